"""Publications in processes that kill themselves at one of many points: run as a script.

python killed.py DIRECTORY POINTS      prints a line of JSON for each point

Up to half of the points are durable steps: before and after all that the ledger executes in SQLite, evenly spread if
there are more. The others are moments: calls of functions of discreet, evenly spread from where the session is open to
where the publication is there. Each child has a ledger of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas  # noqa: F401  DuckDB loads it for tables of Arrow: before the fork too
import pyarrow as pa
from countries import land

import discreet as dp
import discreet.connection
import discreet.engines.duckdb  # imported before the fork, for each child needs it
from discreet import census
from discreet.census import PreparedPublication
from discreet.errors import LedgerError
from discreet.ledger import open_ledger
from discreet.privacy import to_json

_HOUSE = str(Path(dp.__file__).parent)
_DURABLE = ("execute", "executemany", "executescript", "commit", "fsync", "fdatasync")
SPEND = dp.rho(1)
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"rho": 5},
    "tables": {
        "people": {
            "unit": "rows",
            "columns": {
                "block": {"type": "string"},
                "sex": {"type": "string", "keys": ["F", "M"], "nullable": False},
            },
        }
    },
}


def _people() -> pa.Table:
    return pa.table({"block": ["n11", "n12", "n21", "s11"] * 50, "sex": ["F", "M"] * 100})


def _publish(path: str, key: str | None, before: Callable[[], None], after: Callable[[], None]) -> bytes:
    spec = census.Spec("people", land(), {"total": (), "sex": ("sex",)})
    with dp.connect({"people": _people()}, POLICY, path) as session:
        before()
        published = session.answer(census.Publish(spec, SPEND), idempotency_key=key)
        after()
        return published.to_bytes()


def _killed_at(path: str, kind: str, point: int | None) -> dict[str, int]:
    """The number of points of each kind, if the child is not killed."""
    passed = Counter[str]()

    def count(frame: Any, event: str, called: Any) -> None:
        match event:
            case "call" if frame.f_code.co_filename.startswith(_HOUSE):
                at = "moment"
            case "c_call" | "c_return" if getattr(called, "__name__", "") in _DURABLE and _is_durable(called):
                at = "durable"
            case _:
                return
        if at == kind and passed[at] == point:
            os.kill(os.getpid(), signal.SIGKILL)
        passed[at] += 1

    _publish(path, "once", lambda: sys.setprofile(count), lambda: sys.setprofile(None))
    return dict(passed)


def _is_durable(called: Any) -> bool:
    """Whether it is a function of SQLite, or of the system: DuckDB executes too, and keeps nothing."""
    own = getattr(called, "__self__", None)
    return type(own).__module__ == "sqlite3" or called.__module__ in {"posix", "os"}


def _child(work: Callable[[], object]) -> tuple[int, str]:
    """The exit status of a forked child, and what it says."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        status = 255
        try:
            os.close(read)
            os.write(write, json.dumps(work()).encode())
            status = 0
        except BaseException:  # noqa: BLE001
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(status)
    os.close(write)
    text = b"".join(iter(lambda: os.read(read, 65_536), b"")).decode()
    os.close(read)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text


def _again(path: str, key: str | None) -> dict[str, Any]:
    """What the same request gets: the digest of the publication, or that it is dead; and how often noise was drawn."""
    draws, real = Counter[str](), PreparedPublication.measured

    def measured(*arguments: Any) -> Any:
        draws["drawn"] += 1
        return real(*arguments)

    PreparedPublication.measured = measured
    try:
        answer = hashlib.sha256(_publish(path, key, lambda: None, lambda: None)).hexdigest()
    except LedgerError as error:
        answer = str(error)
    return {"answer": answer, "drawn": draws["drawn"]}


def _of(ledger_path: str) -> dict[str, Any]:
    with open_ledger(ledger_path, None) as ledger:
        ledger.verify()
        return {"kinds": [entry.kind for entry in ledger.entries()], "spent": to_json(ledger.spent)}


def main(directory: str, points: int) -> None:
    status, text = _child(lambda: _killed_at(f"{directory}/first", "none", None))
    assert status == 0
    passed = json.loads(text)
    durable = min(points // 2, passed["durable"])
    many = {"durable": durable, "moment": points - durable}
    places = [(kind, (2 * i + 1) * passed[kind] // (2 * each)) for kind, each in many.items() for i in range(each)]
    for number, (kind, point) in enumerate(places):
        path = f"{directory}/{number}"
        status, _ = _child(lambda path=path, kind=kind, point=point: _killed_at(path, kind, point))
        before = _of(path)
        asked = [_child(lambda path=path: _again(path, "once")) for _ in range(2)]
        keyed = _of(path)
        asked += [_child(lambda path=path: _again(path, None)) for _ in range(2)]
        said = [json.loads(each) for _, each in asked]
        print(json.dumps({
            "kind": kind, "point": point, "of": passed, "status": status, "before": before, "keyed": keyed,
            "after": _of(path), "statuses": [each for each, _ in asked], "asked": said,
        }))  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
