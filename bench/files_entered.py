"""How many files of the package one GROUP BY with COUNT and AVG enters, after a session was opened.

python bench/files_entered.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import pyarrow as pa

import discreet as dp

HOME = Path(dp.__file__).parent
TABLE = pa.table({"city": ["a", "b"] * 50, "price": [float(i) for i in range(100)]})
POLICY = {
    "version": "1",
    "budget": {"epsilon": 10},
    "tables": {
        "t": {
            "unit": "rows",
            "columns": {
                "city": {"type": "string", "keys": ["a", "b"]},
                "price": {"type": "float", "bounds": [0, 100]},
            },
        }
    },
}


def entered() -> list[str]:
    """The files with a function that ran while the query was answered."""
    files: set[str] = set()

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            files.add(frame.f_code.co_filename)

    query = "SELECT city, COUNT(*) AS n, AVG(price) AS p FROM t GROUP BY city"
    with dp.connect({"t": TABLE}, POLICY) as session:
        session.sql("SELECT COUNT(*) AS n FROM t", dp.pure(1))  # imports what is imported once
        sys.setprofile(watch)
        session.sql(query, dp.pure(1))
        sys.setprofile(None)
    return sorted(str(Path(each).relative_to(HOME)) for each in files if each.startswith(str(HOME)))


if __name__ == "__main__":
    paths = entered()
    print("\n".join(paths))
    print(len(paths), "files")
