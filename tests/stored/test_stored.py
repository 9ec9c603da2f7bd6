"""What the version before modules moved has stored is still read: ledgers, releases, certificates, schemes, reports."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import cases
import psycopg
import pytest

import discreet as dp
from discreet import local
from discreet.ledger import open_ledger
from discreet.ledger import verify_release as checks
from discreet.release import parse_release_file
from discreet.server.collector import read_store

FILES = Path(__file__).with_name("files")
EXPECTED: dict[str, Any] = json.loads((FILES / "expected.json").read_text())
EXPECTED["ledgers"]["approx"]["biased"]["errors"]["p"][0] = "50.0"
"""An average at its bound, 50, whose bar was 13.5: now a bar at a limit is not cut off as far (`test_limits.py`)."""
CURRENCIES = tuple(EXPECTED["ledgers"])


def key_of(currency: str) -> bytes | None:
    return cases.KEY if currency == "mu" else None


@pytest.fixture(params=CURRENCIES)
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    return request.param, Path(shutil.copy(FILES / f"{request.param}.ledger", tmp_path / "ledger"))


def without_comments(seen: dict[str, Any]) -> dict[str, Any]:
    """TOML has words for people in comments, which may change."""
    lines = [line for line in seen.get("toml", "").splitlines() if not line.startswith("#")]
    return {**seen, "toml": lines} if "toml" in seen else seen


def test_a_ledger_is_whole_and_goes_on(stored) -> None:
    currency, path = stored
    expected = EXPECTED["ledgers"][currency]
    with open_ledger(path, cases.BUDGETS[currency], key=key_of(currency)) as owner:
        assert owner.verify() == expected["entries"]
        assert [owner.head.ledger, owner.head.seq, owner.head.hash] == expected["head"]
        assert owner.facts.public_key == expected["public_key"]
        owner.open_account("analyst").reserve("another", cases.SPENDS[currency])
        assert owner.verify() == expected["entries"] + 1


def test_what_was_answered_is_answered_for_free_and_is_the_same_to_the_last_digit(stored) -> None:
    currency, path = stored
    with dp.connect(cases.TABLES, cases.POLICY, path, account="analyst", key=key_of(currency)) as session:
        before = session.spent
        for name, ask in cases.questions(currency).items():
            for again in ({}, {"idempotency_key": f"{currency}-{name}"}):
                release = ask(session, **again)
                assert without_comments(cases.seen(release)) == without_comments(EXPECTED["ledgers"][currency][name])
        assert session.spent == before


@pytest.mark.parametrize("currency", CURRENCIES)
def test_releases_and_certificates_verify(currency, tmp_path) -> None:
    expected = EXPECTED["ledgers"][currency]
    path = Path(shutil.copy(FILES / f"{currency}.ledger", tmp_path / "ledger"))
    payloads = {each.name: each.read_bytes() for each in FILES.glob(f"{currency}-*.release")}
    payloads |= {
        f"{name} bare": json.dumps(told["certificate"]).encode()
        for name, told in expected.items()
        if isinstance(told, dict)
    }
    assert len(payloads) == len(cases.questions(currency)) + len(cases.QUERIES) + 1
    with open_ledger(path, key=key_of(currency)) as owner:
        for name, payload in payloads.items():
            results = list(checks(parse_release_file(payload), expected["public_key"], owner))
            assert {each.name for each in results if each.result == "good"} >= {"signature", "loss", "charge"}, name
            assert not [each for each in results if each.result == "bad"], name


def test_release_files_are_read(tmp_path) -> None:
    for path in FILES.glob("*.release"):
        release = dp.Release.from_bytes(path.read_bytes())
        currency, _, name = path.stem.partition("-")
        assert cases.seen(release) == EXPECTED["ledgers"][currency][name]


def test_mechanisms_have_the_certificates_and_hashes_that_they_had() -> None:
    found = [cases.asked(*case) for case in cases.mechanisms()]
    assert found == EXPECTED["mechanisms"]


def test_a_stranger_follows_the_losses_of_old_mechanisms() -> None:
    from discreet.release import verify_loss

    for certificate in EXPECTED["mechanisms"]:
        assert verify_loss(certificate) is None, certificate["mechanism"]


@pytest.mark.parametrize("name", EXPECTED["reports"])
def test_schemes_reports_and_states_are_read(name) -> None:
    expected = EXPECTED["reports"][name]
    read: Any = local.TwoServers.from_json if name.startswith("TwoServer") else local.from_json
    scheme = read(expected["document"])
    assert scheme == cases.schemes()[name][0]
    assert scheme.to_json() == expected["document"]
    if name.startswith("TwoServer"):
        for index in (0, 1):
            batch = local.Reports.from_bytes((FILES / f"{name}-{index}.reports").read_bytes())
            scheme.server(index, cases.KEY).check(batch)
        return
    assert scheme.label.hex() == expected["label"]
    batch = local.Reports.from_bytes((FILES / f"{name}.reports").read_bytes())
    server = scheme.server().add(batch)
    state = (FILES / f"{name}.state").read_bytes()
    assert bytes(server) == state
    assert scheme.server(state) == server
    assert server.reports == len(batch) > 0


def test_files_of_reports_and_a_collectors_store_are_read(tmp_path) -> None:
    scheme = local.from_json(EXPECTED["reports"]["KaryRandomizedResponse"]["document"])
    assert local.add_files(scheme.server(), FILES / "kary.parquet").reports == 18
    assert len(local.Reports.from_json((FILES / "kary.json").read_text())) == 18
    shutil.copytree(FILES / "store", tmp_path / "store")
    server = read_store(tmp_path / "store", scheme)
    assert (server.reports, server.rejected) == (18, 1)


def test_a_ledger_on_postgresql_is_read(postgres) -> None:
    lines = (FILES / "postgres.sql").read_text().splitlines()
    script = "\n".join(line for line in lines if not line.startswith("\\")).replace("stored", "golden_ledger")
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(script)
    url = f"{postgres}{'&' if '?' in postgres else '?'}ledger=golden_ledger"
    with dp.connect(cases.TABLES, cases.POLICY, url) as session:
        before = session.spent
        assert cases.seen(session.sql(cases.QUERY, spend=dp.pure("1/2"))) == json.loads(
            (FILES / "postgres.json").read_text()
        )
        assert session.spent == before
    with open_ledger(url) as owner:
        assert owner.verify() == 3


def test_the_files_are_the_ones_that_were_made() -> None:
    """Nobody made them anew to mend a test."""
    digest = hashlib.sha256()
    for path in sorted(FILES.rglob("*")):
        if path.is_file():
            digest.update(path.relative_to(FILES).as_posix().encode() + b"\0" + path.read_bytes())
    assert digest.hexdigest() == DIGEST


DIGEST = "1b3de4706b070e912949a230c05f0763665fb63cf88a26418f5fdc6d49071d43"
