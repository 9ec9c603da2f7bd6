"""Superset on a server for teams: six charts, each refreshed ten times with Superset's cache off, and what that cost.

    python bench/superset.py [--install-peers] [--refreshes 10] [--texts FILE]

The server has the demo's visits and a table of claims with dates, and one account, whose questions spend 0.1 each by
its settings. Superset is in an environment of its own, its metadata in SQLite; it connects by psycopg2, makes the
datasets (one of them virtual) and the charts, and asks for each by its REST API. Charges are those that the ledger's
file has after the server has ended. Ends with 1 if a request fails, an answer has no rows, or a chart is not charged
by its first refresh alone. `--texts` writes what Superset sent.
"""

from __future__ import annotations

import argparse
import datetime as dt
import itertools
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.datasets import rand
from discreet.ledger import open_ledger
from discreet.policy import load_policy
from discreet.privacy import approx, in_words
from peering import asked, install, python_of

SPEND = "0.1"
GOOD = (200, 201)
CLAIMS = """
[tables.claims]
unit = "person"
max_rows = 12
[tables.claims.columns]
day = { type = "date", bounds = ["2024-01-01", "2024-12-31"], nullable = false }
amount = { type = "float", bounds = [0, 500], nullable = false }
"""
PEOPLE = 4_000


def write_claims(path: Path) -> None:
    chance = random.Random(0)
    people = [person for person in range(PEOPLE) for _ in range(chance.randrange(13))]
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=chance.randrange(366)) for _ in people]
    amounts = [chance.expovariate(1 / 80) for _ in people]
    pq.write_table(pa.table({"person": people, "day": days, "amount": amounts}), path)


class Server:
    """A server with one account, as `discreet serve` starts it."""

    def __init__(self, home: Path) -> None:
        policy = home / "visits.toml"
        policy.write_text(rand.policy.read_text() + CLAIMS)
        write_claims(home / "claims.parquet")
        facts, budget = load_policy(policy), approx(3, "1e-6")
        with open_ledger(home / "ledger", budget, relation=facts.relation, people=facts.people) as ledger:
            self.token = str(ledger.grant("superset", approx(2, "1e-7")))
        (home / "serve.toml").write_text(
            '[sources.visits]\npolicy = "visits.toml"\nledger = "ledger"\n'
            f'data = {{ visits = "{rand.table}", claims = "claims.parquet" }}\n'
            '[http]\nlisten = ":0"\n[postgres]\nlisten = ":0"\n'
            f'[accounts.superset]\nepsilon = "{SPEND}"\n'
        )
        self.process = subprocess.Popen(
            [sys.executable, "-m", "discreet.cli", "serve", "--config", str(home / "serve.toml")],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        self.process.stderr.readline()
        port = re.search(r":(\d+)$", self.process.stderr.readline().strip())
        assert port is not None
        self.uri = f"postgresql+psycopg2://superset:{self.token}@127.0.0.1:{port[1]}/visits"

    def stop(self) -> None:
        self.process.terminate()
        _, rest = self.process.communicate()
        print("\n".join(line for line in rest.splitlines() if "the owner signs in" not in line))


def charges(ledger: Path) -> list[Any]:
    """The charges of the ledger, oldest first; free questions, such as which keys there are, are none."""
    with open_ledger(ledger) as opened:
        entries = list(opened.entries())
    return [now for before, now in itertools.pairwise(entries) if now.kind == "reserve" and now.spent != before.spent]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install-peers", action="store_true")
    parser.add_argument("--refreshes", type=int, default=10)
    parser.add_argument("--python", type=Path, default=python_of("superset"), help="of an environment with Superset")
    parser.add_argument("--texts", type=Path)
    options = parser.parse_args()
    if options.install_peers:
        install("superset", "superset.txt")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "superset").mkdir()
        server = Server(home)
        peer = [str(options.python), str(Path(__file__).parent / "peers" / "superset_peers.py")]
        case = {"home": str(home / "superset"), "uri": server.uri, "refreshes": options.refreshes}
        began = time.perf_counter()
        try:
            answer = asked(peer, case, 600)
        finally:
            server.stop()
        entries = charges(home / "ledger")
    if answer is None:
        return 1
    if options.texts:
        options.texts.write_text("\n;\n".join(answer["texts"]))
    return report(answer, entries, time.perf_counter() - began)


def report(answer: dict[str, Any], entries: list[Any], seconds: float) -> int:
    wrong = [f"{step}: {status} {error}" for step, status, error in answer["steps"] if status not in GOOD]
    print(f"Superset {answer['version']}: {len(answer['steps'])} requests beside the charts' data, {len(wrong)} failed")
    for kind, chart in answer["charts"].items():
        refreshes, (first, others) = chart["refreshes"], chart["charges"]
        good = [each for each in refreshes if each["status"] in GOOD and each["rows"] and not each["error"]]
        answers = {str(each["data"]) for each in refreshes}
        print(
            f"  {kind:23} {len(good)} of {len(refreshes)} refreshes with {refreshes[0]['rows']} rows, "
            f"{len(answers)} distinct; {chart['sent']} queries sent, charges {first} + {others}"
        )
        wrong += [f"{kind}: {each['status']} {each['error']}" for each in refreshes if each not in good]
        if chart["sent"] != len(refreshes) or len(answers) != 1:
            wrong.append(f"{kind}: {chart['sent']} queries were sent for {len(answers)} answers")
        if (first, others) != (1, 0):
            wrong.append(f"{kind}: charged {first} by the first refresh and {others} by the others")
    print(f"the ledger: {len(entries)} charges, one of SQL Lab, for {len({each.plan_hash for each in entries})} plans")
    if entries:
        print(f"spent: {in_words(entries[-1].spent)}; {seconds:.0f} s in all")
    if len(entries) != len(answer["charts"]) + 1:
        wrong.append(f"{len(entries)} charges in the ledger")
    for line in dict.fromkeys(wrong):
        print(f"wrong: {line}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
