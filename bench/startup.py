"""How long a person waits: `import discreet`, the first query of a fresh process, and the ones after it.

python bench/startup.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys

RUNS = 7

_IMPORT = "import time; t = time.process_time(); import discreet; print(time.process_time() - t)"
_QUERY = """
import time
import discreet as dp, pyarrow as pa
table = pa.table({"k": ["a", "b"] * 500, "x": list(range(1000))})
columns = {"k": {"type": "string", "keys": ["a", "b"]}, "x": {"type": "int", "bounds": [0, 1000]}}
policy = {"version": "1", "budget": {"epsilon": 10}, "tables": {"t": {"unit": "rows", "columns": columns}}}
session = dp.connect({"t": table}, policy, ledger=LEDGER)
query = "SELECT k, COUNT(*) AS n, AVG(x) AS m FROM t GROUP BY k"
session.sql(query, spend=dp.pure(0.1))
print(time.process_time(), end=" ")
t = time.process_time()
session.sql(query, spend=dp.pure(0.2))
print(time.process_time() - t)
"""


def run(code: str) -> list[float]:
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    import tempfile
    from pathlib import Path

    imports = [run(_IMPORT)[0] for _ in range(RUNS)]
    with tempfile.TemporaryDirectory() as folder:
        queries = [run(_QUERY.replace("LEDGER", repr(str(Path(folder) / f"{i}.ledger")))) for i in range(RUNS)]
    print(f"CPU seconds, medians of {RUNS} fresh processes")
    print(f"import discreet                            {statistics.median(imports):.3f}   (goal 0.35)")
    print(f"first query, with interpreter and imports  {statistics.median(q[0] for q in queries):.3f}   (goal 2)")
    print(f"a later small query                        {statistics.median(q[1] for q in queries):.3f}   (goal 0.3)")


if __name__ == "__main__":
    main()
