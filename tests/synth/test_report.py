"""A report compares what it says it compares, with noise of the right size, and adds up to the spend."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet import synth
from discreet.errors import LedgerError
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian
from discreet.synth._report import _mean_absolute

POLICY = {
    "version": "1",
    "budget": {"rho": 9},
    "tables": {
        "t": {
            "unit": "rows",
            "columns": {
                "site": {"type": "string", "keys": ["a", "b", "c"], "nullable": False},
                "age": {"type": "int", "bounds": [0, 39], "nullable": False},
                "member": {"type": "bool"},
            },
        }
    },
}


@pytest.fixture(scope="module")
def table() -> synth.SyntheticTable:
    rows = pa.table(
        {
            "site": ["abc"[i * i % 3] for i in range(6_000)],
            "age": [i % 40 for i in range(6_000)],
            "member": [None if i % 9 == 0 else i % 40 > 30 for i in range(6_000)],
        }
    )
    with dp.connect({"t": rows}, POLICY) as session:
        return synth.fit(session, "t", dp.rho("0.5"), workload=[("site", "age", "member")])


def marginal(measured: Any, model: Any, *mechanisms: Any) -> synth.MarginalFit:
    size = len(measured)
    texts = (tuple(map(str, range(size))),)
    numbers = (np.array(measured, np.float64), np.array(model, np.float64))
    return synth.MarginalFit(("x",), texts, *numbers, mechanisms, float(sum(model)))


def test_distances_are_total_variations() -> None:
    each = marginal([60, 50, -10], [55, 40, 5], DiscreteGaussian(4))
    assert each.distance == pytest.approx((5 + 10 + 15) / 200)
    assert each.noise_distance == pytest.approx(3 * 4 * math.sqrt(2 / math.pi) / 200)
    assert each.worst == 2 and each.text(2) == "x 2"


@pytest.mark.parametrize("scale", ["1/5", 1, 40])
def test_the_mean_of_laplace_noise_is_that_of_its_law(scale: Any) -> None:
    q = math.exp(-1 / float(DiscreteLaplace(scale).scale))
    exact = sum(2 * k * q**k * (1 - q) / (1 + q) for k in range(1, 3_000))
    assert _mean_absolute([DiscreteLaplace(scale)]) == pytest.approx(exact)


@pytest.mark.parametrize(
    ("noises", "expected"),
    [
        ([Gaussian(3_000), Gaussian(4_000)], math.sqrt(2 / math.pi) * 2_400),
        # the mean by precision of two Laplace noises of one scale b is (b/2)(X + Y), whose mean absolute value is 3b/4
        ([DiscreteLaplace(2_000)] * 2, 1_500.0),
    ],
)
def test_the_mean_of_noise_measured_twice(noises: Any, expected: float) -> None:
    assert _mean_absolute(noises) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("mechanism", [DiscreteLaplace(20), DiscreteGaussian(20), Gaussian(20)])
def test_a_right_model_is_as_far_as_noise_and_a_wrong_one_stands_out(mechanism: Any) -> None:
    """The mean of 20,000 absolute noises is within 7 standard deviations but for a probability below 1e-10."""
    counts = [1_000] * 20_000
    noisy = mechanism.release(counts)
    right = marginal(noisy, counts, mechanism)
    assert abs(right.excess) < 7
    assert right.distance == pytest.approx(right.noise_distance, rel=0.1)
    wrong = marginal(noisy, [1_000 + (-1) ** i * 10 for i in range(20_000)], mechanism)
    assert wrong.stands_out


def test_noise_that_is_always_zero_explains_nothing() -> None:
    never = DiscreteLaplace("1/1000")
    assert not marginal([5, 5], [5, 5], never).stands_out
    assert marginal([5, 5], [2, 8], never, never).stands_out


def test_a_report_reads_the_table_it_is_of(table: synth.SyntheticTable) -> None:
    report = table.report()
    assert (report.table, report.total, report.loss) == ("t", table.total, table.loss)
    assert report.pairs == 3 and 2 <= report.pairs_measured <= 3
    by_name = {each.columns: each for each in report.marginals}
    site = by_name["site",]
    assert site.texts == (("a", "b", "c"),)
    assert site.measured.tolist() == list(table.measured[0].counts)
    shares = table.model.marginal((0,))
    assert site.model.sum() == pytest.approx(table.total)
    assert np.allclose(np.sort(site.model), np.sort(table.total * shares[list(table.merges[0].into)]))
    assert by_name["member",].texts == (("False", "True", "null"),)
    for clique in {each.clique for each in table.measured if len(each.clique) > 1}:
        each = by_name[tuple(table.columns[i].name for i in clique)]
        again = [m for m in table.measured if m.clique == clique]
        weights = np.array([m.mechanism.std**-2 for m in again])
        mean = (weights[:, None] * np.array([m.counts for m in again])).sum(axis=0) / weights.sum()
        assert np.allclose(each.measured, mean)
        assert each.std == pytest.approx(weights.sum() ** -0.5)
        assert math.prod(map(len, each.texts)) == len(each.measured)
        assert np.allclose(each.model, table.total * table.model.marginal(clique))


def test_steps_add_up_to_the_spend(table: synth.SyntheticTable) -> None:
    report = table.report()
    assert len(report.steps) == len(table.certificate["steps"])
    assert sum(each.share for each in report.steps) == pytest.approx(1, abs=1e-5)
    assert sum(each.share for each in report.steps) <= 1
    assert sum(report.stages().values()) == pytest.approx(sum(each.share for each in report.steps))
    names = list(report.stages())
    assert names[:2] == ["columns", "network"]
    assert names[2:] == [f"round {i}" for i in range(1, len(names) - 1)] and len(names) > 2
    last = report.steps_table().rows[-1]
    assert last[-1] == "100.00%"


def test_a_wrong_model_stands_out(table: synth.SyntheticTable) -> None:
    flat = replace(table, potentials={clique: values * 0 for clique, values in table.potentials.items()})
    report = flat.report()
    assert [each.columns for each in report.standing_out]
    assert report.standing_out[0].excess == max(each.excess for each in report.marginals)
    assert "stands out" in str(report) or "stand out" in str(report)


def test_it_is_shown_and_is_json(table: synth.SyntheticTable) -> None:
    report = table.report()
    content = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert [each["columns"] for each in content["marginals"]] == [list(each.columns) for each in report.marginals]
    assert content["steps"][0] == {
        "stage": "columns", "does": "measured", "columns": ["site"], "candidates": None,
        "share": report.steps[0].share,
    }  # fmt: skip
    assert "nothing here says how true" in str(report) or report.pairs == report.pairs_measured
    assert report._repr_html_().count("<tr>") == len(report.marginals) + 1


def test_a_table_that_was_saved_has_the_same_report(table: synth.SyntheticTable) -> None:
    again = synth.SyntheticTable.from_bytes(table.to_bytes())
    assert again.report().to_dict() == table.report().to_dict()


def test_a_certificate_that_cannot_be_followed_is_refused(table: synth.SyntheticTable) -> None:
    for change in ({"steps": []}, {"steps": [{}]}, {"relation": "none"}, {"rows_per_unit": 0}, {"currency": "eur"}):
        forged = replace(table, certificate={**table.certificate, **change})
        with pytest.raises(LedgerError):
            forged.report()
    with pytest.raises(LedgerError):
        replace(table, certificate={}).report()
