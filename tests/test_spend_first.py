"""Law 1: when the first random bit of a release is drawn, its charge is already in the ledger's file."""

from __future__ import annotations

import shutil

import pyarrow as pa
import pytest

import discreet as dp
from discreet.ledger import open_ledger
from discreet.noise import _source
from discreet.privacy import ApproxLoss

pytestmark = pytest.mark.usefixtures("one_database")

POLICY = {
    "version": "1",
    "budget": {"epsilon": 3, "delta": 1e-6},
    "tables": {"t": {"unit": "u", "max_rows": 2, "columns": {"k": {"type": "string"}, "x": {"type": "int"}}}},
}
TABLE = pa.table({"u": [1, 1, 1, 2], "k": ["a", "a", "b", "b"], "x": [1, 2, 3, 4]})


def test_the_charge_is_on_disk_before_the_first_random_bit(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, copies = tmp_path / "t.ledger", []
    key = _source.SecureBits._key

    def watched(self: _source.SecureBits) -> None:
        copies.append(shutil.copytree(tmp_path, tmp_path.parent / f"{tmp_path.name}-{len(copies)}"))
        key(self)

    with dp.connect({"t": TABLE}, POLICY, ledger=path) as session:
        monkeypatch.setattr(_source.SecureBits, "_key", watched)
        session.sql("SELECT k, COUNT(*) AS n FROM t GROUP BY k", spend=dp.approx(1, 1e-7))
    assert copies, "nothing was drawn"
    for copy in copies:  # what a power cut at that moment would leave
        with open_ledger(copy / "t.ledger", None) as ledger:
            ledger.verify()
            assert [entry.kind for entry in ledger.entries()] == ["create", "reserve"]
            assert ledger.spent == ApproxLoss(dp.approx(1, 1e-7).eps, dp.approx(1, 1e-7).at_delta)  # type: ignore[attr-defined]


def test_a_refused_spend_draws_nothing_and_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with dp.connect({"t": TABLE}, POLICY) as session:

        def forbidden(*_: object) -> None:
            raise AssertionError("a refused query reached the data or the noise")

        monkeypatch.setattr(_source.SecureBits, "_key", forbidden)
        monkeypatch.setattr(type(session._engine), "run", forbidden)
        refused = {"COUNT(*) AS n FROM t": [dp.pure(4), dp.rho(1)]}
        refused["k, COUNT(*) AS n FROM t GROUP BY k"] = [dp.pure(1), dp.pure(4), dp.approx(1, 0.5), dp.rho(1, 1e-7)]
        for query, spends in refused.items():
            for spend in spends:
                with pytest.raises((dp.BudgetExceeded, dp.ParameterError)):
                    session.sql(f"SELECT {query}", spend=spend)
