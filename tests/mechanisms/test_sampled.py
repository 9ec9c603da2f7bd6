"""Sampling as it is run: the exact law of what is released, over all coins, against the claimed loss."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

from discreet.errors import ParameterError
from discreet.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    GlobalSensitivity,
    OnGrid,
    RandomizedResponse,
    Sampled,
)
from discreet.privacy import approx, mu, pure, rho

ALARM = 1e-12
REACH = 80


class Plainly:
    """Releases what it is given: tells what reaches the mechanism."""

    def loss(self):
        return pure(1)

    def release(self, value):
        return value


def law_before_noise(monkeypatch, data, rate: Fraction, function, units=None) -> dict:
    """What reaches the mechanism, with its exact probability: `release` is run on every outcome of its coins."""
    drawn: list[tuple[Fraction, int]] = []
    people = len(data) if units is None else len(set(units))
    found: dict = {}
    for coins in product([False, True], repeat=people):

        def flip(p, size, coins=coins):
            drawn.append((p, size))
            return np.array(coins, dtype=bool)

        monkeypatch.setattr("discreet.mechanisms.randomizers._sampled.bernoulli", flip)
        value = Sampled(Plainly(), rate, function).release(data, units)
        weight = rate ** sum(coins) * (1 - rate) ** (people - sum(coins))
        found[value] = found.get(value, 0) + weight
    assert set(drawn) == {(rate, people)}
    assert sum(found.values()) == 1
    return found


def noisy_law(mechanism, before: dict) -> list[mpmath.mpf]:
    if isinstance(mechanism, DiscreteLaplace):
        weight = [mpmath.exp(-abs(x) * mpmath.mpf(1) / float(mechanism.scale)) for x in range(-2 * REACH, 2 * REACH)]
    else:
        s = mpmath.mpf(float(mechanism.sigma))
        weight = [mpmath.exp(-x * x / (2 * s * s)) for x in range(-2 * REACH, 2 * REACH)]
    total = mpmath.fsum(weight)
    chances = [(value, mpmath.mpf(c.numerator) / c.denominator) for value, c in before.items()]
    return [
        mpmath.fsum(c * weight[o - value + 2 * REACH] for value, c in chances) / total for o in range(-REACH, REACH)
    ]


def hockey_stick(p, q, epsilon: float) -> mpmath.mpf:
    grown = mpmath.exp(epsilon)
    return mpmath.fsum(max(a - grown * b, 0) for a, b in zip(p, q, strict=True))


@pytest.mark.parametrize("mechanism", [DiscreteLaplace("1.5"), DiscreteGaussian(2)], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)], ids=str)
@pytest.mark.parametrize("units", [None, ["a", "a", "b", "c"]], ids=["rows", "persons"])
def test_the_claimed_loss_covers_the_law_of_what_is_released(mechanism, rate, units, monkeypatch) -> None:
    """Counts of up to 4 rows, with and without the first unit; both directions."""
    data = [1, 1, 1, 1]
    gone = 1 if units is None else 2
    others = None if units is None else units[gone:]
    one, other = (
        noisy_law(mechanism, law_before_noise(monkeypatch, rows, rate, len, of))
        for rows, of in ((data, units), (data[gone:], others))
    )
    alone = noisy_law(mechanism, {gone: rate, 0: 1 - rate}), noisy_law(mechanism, {0: Fraction(1)})
    for epsilon in (0.01, 0.1, 0.3, 1.0):
        claimed = Sampled(mechanism, rate, len).loss(gone).delta(epsilon)
        truth = max(hockey_stick(one, other, epsilon), hockey_stick(other, one, epsilon))
        assert truth <= claimed * (1 + mpmath.mpf("1e-12")) + mpmath.mpf("1e-18")
        # With nobody else there the claim is attained; two steps of Laplace noise are charged as any pure loss is.
        truth = max(hockey_stick(*alone, epsilon), hockey_stick(*alone[::-1], epsilon))
        assert truth <= claimed * (1 + mpmath.mpf("1e-12")) + mpmath.mpf("1e-18")
        assert claimed <= 1.001 * truth + mpmath.mpf("1e-18") or (isinstance(mechanism, DiscreteLaplace) and gone == 2)


def test_persons_are_in_or_out_with_all_their_rows(monkeypatch) -> None:
    rate = Fraction(1, 3)
    law = law_before_noise(monkeypatch, list("abcde"), rate, "".join, [7, 3, 7, 3, 5])
    assert set(law) == {"", "ac", "bd", "e", "abcd", "ace", "bde", "abcde"}
    assert law["ac"] == rate * (1 - rate) ** 2
    missing = law_before_noise(monkeypatch, list("abc"), rate, "".join, [None, "x", None])
    assert set(missing) == {"", "ac", "b", "abc"}


FORMS = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "matrix": lambda rows: np.array(rows).reshape(-1, 1),
    "arrow": pa.array,
    "table": lambda rows: pa.table({"x": rows}),
    "series": lambda rows: pd.Series(rows, index=range(5, 5 + len(rows))),
    "frame": lambda rows: pd.DataFrame({"x": rows}),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_data(form: str) -> None:
    rows, units = list(range(1000)), np.arange(1000) // 10
    seen = Sampled(Plainly(), "0.5", lambda sample: sample)
    for data, of in ((FORMS[form](rows), None), (FORMS[form](rows), units), (FORMS[form]([]), None)):
        sample = seen.release(data, of)
        flat = (
            [int(x) for x in np.asarray(sample).ravel()]
            if not isinstance(sample, pa.Table)
            else sample["x"].to_pylist()
        )
        assert len(sample) == len(flat)
        assert flat == sorted(set(flat))
        assert len(data) == 0 or 150 < len(flat) < 850  # of 100 units: false alarm below 1e-12
        assert of is None or all((x // 10 * 10 + i) in flat for x in flat for i in range(10))
        if hasattr(sample, "index") and form in ("series", "frame"):
            assert sample.index.tolist() == list(range(len(sample)))


def test_frequency_of_samples() -> None:
    """Fails by chance with probability 1e-12 or so: sizes of samples of 10 units are binomial."""
    sizes = Sampled(Plainly(), "0.3", len)
    counts = np.bincount([sizes.release(range(10)) for _ in range(6000)], minlength=11)
    expected = stats.binom.pmf(np.arange(11), 10, 0.3) * 6000
    pooled = [np.array([*each[:7], each[7:].sum()]) for each in (counts, expected)]
    assert stats.chisquare(*pooled).pvalue > ALARM


def test_loss_is_that_of_add_remove_only() -> None:
    assert Sampled(DiscreteLaplace(1), "0.1", len).loss(1) == pure(1).sampled("0.1")
    assert Sampled(Exponential(1, 1), "0.1", len).loss().relation == "add_remove"
    with pytest.raises(ParameterError, match="neighbours"):
        Sampled(RandomizedResponse("0.75"), "0.1", len).loss()
    whole = OnGrid(DiscreteLaplace(8), step="0.125", bounds=(0, 10))
    assert Sampled(whole, "0.1", sum).loss(1) == whole.loss(1).sampled("0.1")
    assert isinstance(Sampled(whole, "0.1", sum).release([0.5] * 100), float)


def test_a_mechanism_for_substitution_is_refused() -> None:
    """A sum from 10 to 11 moves by 1 where a record is replaced, and by 11 where it is added: e**11, not e**1."""
    whole = {"bounds": (10, 11), "spend": pure(1)}
    with pytest.raises(ParameterError, match="neighbours by add_remove"):
        Sampled(GlobalSensitivity("sum", **whole, relation="substitute"), "0.5", list).loss()
    found = Sampled(GlobalSensitivity("sum", **whole), "0.5", list)
    assert found.loss() == pure(1).sampled("0.5")
    assert Sampled(found, "0.5", list).loss() == pure(1).sampled("0.5").sampled("0.5")


def test_a_sensitivity_is_given_where_it_is_needed() -> None:
    with pytest.raises(ParameterError, match="sensitivity=1"):
        Sampled(DiscreteLaplace(1), "0.1", len).loss()
    with pytest.raises(ParameterError, match="leave sensitivity= out"):
        Sampled(Exponential(1, 1), "0.1", len).loss(1)


KEYS = {
    "lists": [[1, "a"], [2, "a"], [1, "b"]],
    "fields": np.array([(1, 2), (3, 4), (1, 5)], dtype=[("a", int), ("b", int)]),
    "structs": pa.array([{"a": 1}, {"a": 2}, {"a": 3}]),
    "matrix": np.array([["a", "1"], ["b", "2"], ["c", "3"]], dtype=object),
    "frame": pd.DataFrame({"a": [1, 2, 3], "b": [1, 2, 3], "c": [1, 2, 3]}),
}


@pytest.mark.parametrize("form", KEYS)
def test_units_that_would_all_be_one_are_refused(form: str) -> None:
    """Drawn together, all or none, a sample hides nobody: the loss would be that without sampling."""
    with pytest.raises(ParameterError, match="units must be"):
        Sampled(DiscreteLaplace(1), "0.5", len).release([1, 2, 3], KEYS[form])
    tuples = [(1, "a"), (2, "a"), (1, "b")]
    assert Sampled(Plainly(), 1, len).release([1, 2, 3], tuples) == 3


@pytest.mark.parametrize("rate", ["1e-6", "0.01", "0.7", 1], ids=str)
@pytest.mark.parametrize(
    ("kind", "spend"),
    [
        (DiscreteLaplace, pure("0.1")),
        (DiscreteLaplace, pure("1e-9")),
        (DiscreteLaplace, approx(3, 1e-9)),
        (DiscreteLaplace, pure(600)),
        (DiscreteGaussian, approx(1, 1e-6)),
        (DiscreteGaussian, rho("0.1")),
    ],
    ids=lambda each: getattr(each, "__name__", str(each)),
)
def test_calibration_counts_the_sampling(kind, spend, rate) -> None:
    noisy = Sampled.calibrate(spend, 3, kind=kind, rate=rate, function=len)
    assert noisy.loss(3).fits(spend)
    assert noisy.mechanism.std <= kind.calibrate(spend, 3).std * (1 + 1e-9)
    if spend in (pure("0.1"), approx(1, 1e-6)) and noisy.mechanism.std > 0.1:
        scale = noisy.mechanism.scale if kind is DiscreteLaplace else noisy.mechanism.sigma
        less = kind(scale * (1 - Fraction(1, 1000)))
        assert not Sampled(less, rate, len).loss(3).fits(spend)


@pytest.mark.parametrize("rate", [0, -0.1, 1.1, "1e-101", float("nan"), None, True], ids=str)
def test_bad_rates_are_refused(rate) -> None:
    with pytest.raises(ParameterError, match="rate"):
        Sampled(DiscreteLaplace(1), rate, len)


def test_bad_data_are_refused() -> None:
    noisy = Sampled(DiscreteLaplace(1), "0.5", len)
    for data in ({1, 2}, "abc", 3, None, np.array(1)):
        with pytest.raises(ParameterError, match="data must be"):
            noisy.release(data)
    with pytest.raises(ParameterError, match="one for each row"):
        noisy.release([1, 2, 3], [1, 2])
    with pytest.raises(ParameterError, match="callable"):
        Sampled(DiscreteLaplace(1), "0.5", 3)
    for spend in (0 * pure(1), mu(1) * 0):
        with pytest.raises(ParameterError):
            Sampled.calibrate(spend, 1, kind=DiscreteLaplace, rate="0.1", function=len)
