"""Write what a real server answers to each recorded query.

python tests/server/postgres/catalogue/ask_real_server.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import psycopg

from discreet.policy import load_policy

sys.path.append(str(Path(__file__).parent))
from real_server import real_server
from recorded import HERE, OBJECTS, POLICY, Recorded, compact, normal, recorded


def main() -> None:
    stored = dict[str, dict[int, Any]]()
    with real_server(load_policy(POLICY)) as connection:
        for query, answer in ask_all(connection):
            stored.setdefault(query.client, {})[query.number] = answer
    (HERE / "answers").mkdir(exist_ok=True)
    for client, answers in stored.items():
        lines = ",\n".join(
            f'"{number}": {json.dumps(compact(answer), ensure_ascii=False)}' for number, answer in answers.items()
        )
        (HERE / "answers" / f"{client}.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def ask_all(connection: psycopg.Connection) -> list[tuple[Recorded, Any]]:
    """Each query with the answer of the server, or its SQLSTATE."""
    names = {int(number): name for number, name in connection.execute(OBJECTS).fetchall()}
    types = dict(connection.execute("SELECT oid::int8, format_type(oid, NULL) FROM pg_type").fetchall())
    return [(query, ask(connection, query, names, types)) for query in recorded()]


def ask(connection: psycopg.Connection, query: Recorded, names: dict[int, str], types: dict[int, str]) -> Any:
    text, parameters = query.numbered({name: number for number, name in names.items()})
    try:
        with connection.transaction():
            cursor = connection.pgconn.exec_params(
                text.encode(), [None if each is None else each.encode() for each in parameters]
            )
            if cursor.status != psycopg.pq.ExecStatus.TUPLES_OK:
                state = cursor.error_field(psycopg.pq.DiagnosticField.SQLSTATE)
                raise psycopg.errors.lookup((state or b"").decode())
    except psycopg.Error as error:
        return {"error": error.sqlstate}
    columns = [((cursor.fname(i) or b"").decode(), types[cursor.ftype(i)]) for i in range(cursor.nfields)]
    rows = [
        [None if (value := cursor.get_value(row, i)) is None else value.decode() for i in range(cursor.nfields)]
        for row in range(cursor.ntuples)
    ]
    answer = normal(columns, rows, names)
    if parameters:
        connection.pgconn.prepare(b"", text.encode())
        described = connection.pgconn.describe_prepared(b"")
        answer["parameters"] = [types[described.param_type(i)] for i in range(described.nparams)]
    return answer


if __name__ == "__main__":
    main()
