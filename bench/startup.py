"""How long a person waits: `import discreet`, a command, the first query of a fresh process, and the ones after it.

python bench/startup.py [SRC ...]

Each SRC is the `src` of a checkout to compare, this one's if none is named; their processes take turns. Compiled files
are written, as they are in use.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 7

_QUERY = """
import time
import discreet as dp, pyarrow as pa
table = pa.table({"k": ["a", "b"] * 500, "x": list(range(1000))})
columns = {"k": {"type": "string", "keys": ["a", "b"]}, "x": {"type": "int", "bounds": [0, 1000]}}
policy = {"version": "1", "budget": {"epsilon": 10}, "tables": {"t": {"unit": "rows", "columns": columns}}}
session = dp.connect({"t": table}, policy)
query = "SELECT k, COUNT(*) AS n, AVG(x) AS m FROM t GROUP BY k"
session.sql(query, spend=dp.pure(0.1))
print(time.process_time(), end=" ")
t = time.process_time()
session.sql(query, spend=dp.pure(0.2))
print(time.process_time() - t)
"""
_POLICY = """
version = "1"
[budget]
epsilon = 1000
[tables.t]
unit = "rows"
[tables.t.columns]
k = { type = "string", keys = ["a", "b"] }
x = { type = "int", bounds = [0, 1000] }
"""
_SQL = "SELECT k, COUNT(*) AS n, AVG(x) AS m FROM t GROUP BY k"
_FILES = ("--policy", "t.toml", "--epsilon", "0.1")
_CLI = ("-m", "discreet.cli")
ROWS = {
    "python alone": ("-c", "pass"),
    "import discreet": ("-c", "import discreet"),
    "discreet budget": (*_CLI, "budget", "--ledger", "t.ledger"),
    "discreet plan": (*_CLI, "plan", _SQL, *_FILES),
    "discreet query, answered again": (*_CLI, "query", _SQL, *_FILES, "--data", "t.csv", "--ledger", "t.ledger"),
}


def cpu(words: tuple[str, ...], environment: dict[str, str]) -> float:
    """User and system seconds of a process that ends well."""
    nothing = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(sys.executable, [sys.executable, *words], environment, file_actions=nothing)
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{words} failed")
    return used.ru_utime + used.ru_stime


def queries(environment: dict[str, str]) -> tuple[float, float]:
    done = subprocess.run([sys.executable, "-c", _QUERY], env=environment, check=True, capture_output=True, text=True)
    first, later = done.stdout.split()
    return float(first), float(later)


def main() -> None:
    here = str(Path(__file__).parents[1] / "src")
    sources = [str(Path(source).resolve()) for source in sys.argv[1:]] or [here]
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    shells = {source: {**plain, "PYTHONPATH": source} for source in sources}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("t.toml").write_text(_POLICY, encoding="utf-8")
        Path("t.csv").write_text("k,x\n" + "".join(f"{'ab'[i % 2]},{i}\n" for i in range(1000)), encoding="utf-8")
        for shell in shells.values():  # the ledger, and compiled files
            for words in list(ROWS.values())[::-1]:
                cpu(words, shell)
        print(f"CPU seconds, medians (and least) of {RUNS} fresh processes")
        print(" " * 44, *(f"{source[-24:]:>24}" for source in sources))
        for name, words in ROWS.items():
            taken: dict[str, list[float]] = {source: [] for source in sources}
            for _ in range(RUNS):
                for source, shell in shells.items():
                    taken[source].append(cpu(words, shell))
            show(name, list(taken.values()))
        firsts = [[queries(shell) for _ in range(RUNS)] for shell in shells.values()]
        show("first query in Python, with imports (goal 2)", [[first for first, _ in each] for each in firsts])
        show("a later small query (goal 0.3)", [[later for _, later in each] for each in firsts])


def show(name: str, columns: list[list[float]]) -> None:
    cells = [f"{statistics.median(each):.3f} ({min(each):.3f})" for each in columns]
    print(f"{name:<44}", *(f"{cell:>24}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
