"""Six charts of Superset, each refreshed so often: asked by its REST API, in its own environment.

JSON in: `home` (an empty folder for Superset's own database), `uri` (SQLAlchemy's, of the database), `refreshes`. JSON
out: `steps`, the requests before the charts and beside them, with their statuses; `charts`, of each the charges by its
first refresh and by all others, how many texts went to the database, and of each refresh the status, the rows and the
error; and `texts`, all that Superset sent, in order, without repetition.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import sys
from pathlib import Path
from typing import Any

CONFIG = """
SECRET_KEY = "of a Superset that lives as long as a benchmark"
SQLALCHEMY_DATABASE_URI = "sqlite:///{home}/superset.db"
WTF_CSRF_ENABLED = False
TALISMAN_ENABLED = False
RATELIMIT_ENABLED = False
SESSION_COOKIE_SAMESITE = None
"""
YEAR = "2024-01-01 : 2025-01-01"


def axis(column: str, grain: str | None = None) -> dict[str, Any]:
    """A column along an axis, as the chart builder writes it."""
    written = {"columnType": "BASE_AXIS", "sqlExpression": column, "label": column, "expressionType": "SQL"}
    return {**written, "timeGrain": grain} if grain else written


def aggregate(function: str, column: str) -> dict[str, Any]:
    """A metric picked from the lists of columns and aggregates."""
    simple = {"expressionType": "SIMPLE", "aggregate": function, "column": {"column_name": column}}
    return {**simple, "label": f"{function}({column})"}


def written(expression: str) -> dict[str, Any]:
    """A metric written as SQL."""
    return {"expressionType": "SQL", "sqlExpression": expression, "label": expression}


CHARTS: dict[str, dict[str, Any]] = {
    "big_number_total": {"table": "visits", "columns": [], "metrics": ["count"]},
    "echarts_timeseries_bar": {
        "table": "visits",
        "columns": [axis("coinsurance")],
        "metrics": [aggregate("AVG", "dollars")],
        "orderby": [[aggregate("AVG", "dollars"), False]],
        "filters": [{"col": "year", "op": "IN", "val": [1, 2, 3]}],
    },
    "echarts_timeseries_line": {
        "table": "claims",
        "columns": [axis("day", "P1M")],
        "metrics": [aggregate("SUM", "amount")],
        "orderby": [[aggregate("SUM", "amount"), False]],
        "filters": [{"col": "day", "op": "TEMPORAL_RANGE", "val": YEAR}],
        "extras": {"time_grain_sqla": "P1M", "having": "", "where": ""},
    },
    "table": {
        "table": "visits",
        "columns": ["coinsurance", "female"],
        "metrics": ["count", aggregate("AVG", "age"), aggregate("SUM", "doctor_visits"), written("AVG(dollars)")],
        "orderby": [["count", False]],
        "row_limit": 1000,
        "filters": [{"col": "age", "op": ">=", "val": 18}],
    },
    "pie": {
        "table": "adults",
        "columns": ["female"],
        "metrics": ["count"],
        "orderby": [["count", False]],
        "row_limit": 100,
    },
    "heatmap_v2": {
        "table": "visits",
        "columns": [axis("year"), "coinsurance"],
        "metrics": [aggregate("AVG", "doctor_visits")],
        "orderby": [["year", True]],
    },
}
"""What each kind of chart asks, as Superset's own front writes it."""
VIRTUAL = {"adults": ("visits", "SELECT coinsurance, female, dollars FROM visits WHERE age >= 18")}
EXPECTED = (200, 201)


def record_texts() -> list[str]:
    """Every statement that goes to a PostgreSQL database from now on, as it goes."""
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    texts: list[str] = []

    @event.listens_for(Engine, "before_cursor_execute", named=True)
    def _(**passed: Any) -> None:
        if passed["conn"].dialect.name == "postgresql":
            cursor, statement, parameters = passed["cursor"], passed["statement"], passed["parameters"]
            texts.append(cursor.mogrify(statement, parameters).decode())

    return texts


def record_cursors(texts: list[str]) -> None:
    """Those too that go by a cursor of the driver's, not by SQLAlchemy."""
    from superset.db_engine_specs.base import BaseEngineSpec
    from superset.db_engine_specs.postgres import PostgresEngineSpec

    execute = BaseEngineSpec.execute.__func__

    def recorded(cls: Any, cursor: Any, query: str, *rest: Any, **named: Any) -> Any:
        texts.append(query)
        return execute(cls, cursor, query, *rest, **named)

    PostgresEngineSpec.execute = classmethod(recorded)


class Superset:
    """A Superset with an administrator, asked by its REST API."""

    def __init__(self, home: Path) -> None:
        (home / "superset_config.py").write_text(CONFIG.format(home=home))
        os.environ.update(SUPERSET_CONFIG_PATH=str(home / "superset_config.py"), SUPERSET_HOME=str(home))
        from superset.app import create_app

        self.app = create_app()
        with self.app.app_context():
            from flask_migrate import upgrade

            from superset import appbuilder

            upgrade(directory=str(Path(sys.modules["superset"].__file__ or "").parent / "migrations"))
            appbuilder.add_permissions(update_perms=True)
            appbuilder.sm.sync_role_definitions()
            role = appbuilder.sm.find_role("Admin")
            appbuilder.sm.add_user("admin", "An", "Admin", "admin@example.com", role, password="admin")
        self.client = self.app.test_client()
        who = {"username": "admin", "password": "admin", "provider": "db"}
        token = self.client.post("/api/v1/security/login", json=who).get_json()["access_token"]
        self.headers = {"Authorization": f"Bearer {token}"}
        self.steps: list[tuple[str, int, str]] = []

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer to a request, noted with its status."""
        answer = self.client.open(f"/api/v1/{path}", method=method, json=body, headers=self.headers)
        wrong = "" if answer.status_code in EXPECTED else answer.get_data(as_text=True)[:500]
        self.steps.append((f"{method} {path}", answer.status_code, wrong))
        return answer.get_json() or {}


def context(chart: dict[str, Any], dataset: int, kind: str) -> dict[str, Any]:
    """What the chart's page posts."""
    query = {"row_limit": 10_000, "filters": [], "extras": {"having": "", "where": ""}}
    query |= {name: value for name, value in chart.items() if name != "table"}
    place = {"id": dataset, "type": "table"}
    form = {"datasource": f"{dataset}__table", "viz_type": kind}
    asked = {"datasource": place, "force": True, "queries": [query], "form_data": form}
    return {**asked, "result_format": "json", "result_type": "full"}


def refresh(superset: Superset, chart: int, asked: dict[str, Any]) -> dict[str, Any]:
    body = {**asked, "form_data": {**asked["form_data"], "slice_id": chart}}
    answer = superset.client.post("/api/v1/chart/data?force=true", json=body, headers=superset.headers)
    content = answer.get_json() or {}
    result = (content.get("result") or [{}])[0] if answer.status_code in EXPECTED else {}
    error = result.get("error") or ("" if result else answer.get_data(as_text=True)[:500])
    return {
        "status": answer.status_code,
        "rows": result.get("rowcount") or 0,
        "error": error,
        "data": result.get("data"),
    }


def count_charges(uri: str) -> int:
    """How often the account has been charged, which the server tells for free."""
    import psycopg2

    with contextlib.closing(psycopg2.connect(uri.replace("+psycopg2", ""))) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT number FROM discreet.history")
        return len(cursor.fetchall())


def make_dataset(superset: Superset, database: int, table: str) -> int:
    return superset.ask("POST", "dataset/", {"database": database, "schema": "public", "table_name": table})["id"]


def run(case: dict[str, Any]) -> dict[str, Any]:
    superset = Superset(Path(case["home"]))
    texts = record_texts()
    record_cursors(texts)
    connection = {"database_name": "discreet", "sqlalchemy_uri": case["uri"]}
    superset.ask("POST", "database/test_connection/", connection)
    database = superset.ask("POST", "database/", connection).get("id")
    superset.ask("GET", f"database/{database}/schemas/")
    superset.ask("GET", f"database/{database}/tables/?q=(schema_name:public)")
    superset.ask("GET", f"database/{database}/table_metadata/?name=visits&schema=public")
    # Superset asks for a row of a new virtual dataset, to learn its columns, and no row is released: the virtual one is
    # a dataset of the table, whose columns the catalogue has, and is then given a name and SQL, as its editor does.
    places: dict[str, int] = {}
    for name, (table, sql) in VIRTUAL.items():
        places[name] = make_dataset(superset, database, table)
        superset.ask("PUT", f"dataset/{places[name]}", {"table_name": name, "sql": sql})
    places |= {name: make_dataset(superset, database, name) for name in ("visits", "claims")}
    superset.ask("GET", f"datasource/table/{places['visits']}/column/coinsurance/values/")
    question = {
        "database_id": database,
        "sql": "SELECT female, COUNT(*) AS n FROM visits GROUP BY female",
        "schema": "public",
    }
    superset.ask("POST", "sqllab/execute/", {**question, "runAsync": False, "queryLimit": 1000})
    charts: dict[str, Any] = {}
    for kind, chart in CHARTS.items():
        asked = context(chart, places[chart["table"]], kind)
        stored = {"slice_name": kind, "viz_type": kind, "datasource_type": "table"}
        stored |= {"datasource_id": places[chart["table"]], "query_context": json.dumps(asked)}
        stored |= {"params": json.dumps(asked["form_data"])}
        number = superset.ask("POST", "chart/", stored)["id"]
        before, sent = count_charges(case["uri"]), len(texts)
        first = refresh(superset, number, asked)
        once = count_charges(case["uri"])
        refreshes = [first, *(refresh(superset, number, asked) for _ in range(case["refreshes"] - 1))]
        sent = len(texts) - sent
        charges = [once - before, count_charges(case["uri"]) - once]
        charts[kind] = {"charges": charges, "sent": sent, "refreshes": refreshes}
    return {
        "version": importlib.metadata.version("apache-superset"),
        "steps": superset.steps,
        "charts": charts,
        "texts": list(dict.fromkeys(texts)),
    }


if __name__ == "__main__":
    print(json.dumps(run(json.load(sys.stdin)), default=str))
