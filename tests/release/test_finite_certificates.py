"""A certificate has no number that JSON has no words for: what cannot be saved again is not read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet import learn
from discreet.errors import LedgerError
from discreet.release import BaseRelease, load, parse_release_file

pytestmark = pytest.mark.usefixtures("one_database")
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 9},
    "tables": {"t": {"unit": "rows", "columns": {"x": {"type": "int", "bounds": [0, 9]}, "y": {"type": "bool"}}}},
}
NUMBERS = ("NaN", "Infinity", "-Infinity", "1e999", "-1e999")
PLACE = '"spoilt number"'


@pytest.fixture(scope="module")
def releases() -> dict[str, BaseRelease]:
    rows = pa.table({"x": [1, 2, 3], "y": [True, False, True]})
    with dp.connect({"t": rows}, POLICY) as session:
        records = session.records("SELECT x, y FROM t", label="y")
        model = learn.NaiveBayes(dp.pure(1)).fit(records).model_
        return {
            "answer": session.sql("SELECT COUNT(*) AS n FROM t", dp.pure(1)),
            "mechanism": session.release(dp.mechanisms.DiscreteLaplace(4), 42, sensitivity=1, name="it"),
            "model": model,
            "evaluation": learn.evaluate(model, records, spend=dp.pure(1)),
        }


@pytest.mark.parametrize("name", ["answer", "mechanism", "model", "evaluation"])
@pytest.mark.parametrize("nested", [False, True])
def test_numbers_that_are_not_finite_are_refused(
    releases: dict[str, BaseRelease], name: str, nested: bool, tmp_path: Path
) -> None:
    release = releases[name]
    spoilt = json.loads(PLACE)
    certificate = {**release.certificate, "spoilt": [{"at": spoilt}] if nested else spoilt}
    object.__setattr__(release, "certificate", certificate)
    sound = release.to_bytes()
    assert type(release).from_bytes(sound).certificate == certificate
    for number in NUMBERS:
        # A header of Arrow states its length, so that the text stays as long as it was.
        payload = sound.replace(PLACE.encode(), number.encode().ljust(len(PLACE)))
        assert payload != sound
        with pytest.raises(LedgerError):
            type(release).from_bytes(payload)
        with pytest.raises(LedgerError):
            parse_release_file(payload)
        path = tmp_path / f"spoilt{number}"
        path.write_bytes(payload)
        with pytest.raises(LedgerError):
            load(path)
    for number in (b"1e30", b"-0.5", b"7"):
        payload = sound.replace(PLACE.encode(), number.ljust(len(PLACE)))
        assert type(release).from_bytes(payload).to_json()


def test_a_certificate_alone_too(releases: dict[str, BaseRelease]) -> None:
    certificate = {**releases["evaluation"].certificate, "signature": "", "x": float("nan")}
    with pytest.raises(LedgerError):
        parse_release_file(json.dumps(certificate).encode())
