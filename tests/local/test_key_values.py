"""Numbers by key: exact ε, frequencies without bias, variances of the law, means and their intervals."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from local_laws import assert_exact, assert_numbers_by_key_are_unbiased, estimate_of, law, odds_of
from scipy import stats

from discreet.errors import ParameterError
from discreet.local import KeyValues, Reports, from_json
from discreet.privacy import pure

ORACLES = pytest.mark.parametrize("oracle", ["kary_randomized_response", "hadamard_response", "projective_geometry"])
PEOPLE: list[dict[int, float]] = [{}, {0: 4.0}, {1: 1.0, 2: 4.0}, {0: 2.5, 2: 1.0}]
SHARES = np.array([0.1, 0.4, 0.2, 0.3])
FREQUENCIES = np.array([0.7, 0.2, 0.5])
MEANS = np.array([(0.4 * 4 + 0.3 * 2.5) / 0.7, 1.0, (0.2 * 4 + 0.3 * 1) / 0.5])


def small(epsilon: str = "1", oracle: str | None = None, padding: int = 2, **more) -> KeyValues:
    return KeyValues(3, (1, 4), epsilon, padding=padding, oracle=oracle, **more)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("epsilon", ["1e-6", "0.5", "1", "2", "5", "20"])
@pytest.mark.parametrize("padding", [1, 2, 3])
@ORACLES
def test_the_exact_epsilon_is_the_claim(epsilon, padding, oracle) -> None:
    scheme = small(epsilon, oracle, padding)
    assert_exact(odds_of(scheme, [*PEOPLE, {0: 1, 1: 1, 2: 1}, {0: 4, 1: 4, 2: 4}]), Fraction(epsilon))
    assert scheme.loss == pure(epsilon)


@pytest.mark.parametrize("epsilon", ["0.5", "4"])
@ORACLES
def test_frequencies_are_unbiased_exactly(epsilon, oracle) -> None:
    assert_numbers_by_key_are_unbiased(small(epsilon, oracle), [*PEOPLE, {0: 1, 1: 2, 2: 3}])


@pytest.mark.parametrize("epsilon", ["0.5", "4"])
@ORACLES
def test_variances_are_those_of_the_law(epsilon, oracle) -> None:
    """And so are all the moments that standard errors are made from, and the standard errors of the counts."""
    scheme = small(epsilon, oracle)
    total, square, counts = np.zeros(3), np.zeros((3, 3)), np.zeros(scheme.cells)
    for held, share in zip(PEOPLE, SHARES, strict=True):
        for report, weight in law(scheme, held).items():
            found = estimate_of(scheme, report)
            chance = share * float(weight)
            total += chance * found.frequencies
            added = np.array([found.moments.total, found.moments.change])
            square += chance * np.array([added[0] ** 2, added[1] ** 2, added[0] * added[1]])
            rows = np.frombuffer(report, dtype=np.uint8).reshape(1, -1)
            counts += chance * scheme.server().add(Reports(scheme.fingerprint, rows)).counts
    assert total == pytest.approx(FREQUENCIES)
    assert scheme.variance(FREQUENCIES, MEANS) == pytest.approx(4 * square[0] - total**2, rel=1e-9)
    parts = 10**13  # as if so many reports were there in proportion
    estimate = scheme.read(np.rint(counts * parts).astype(np.int64), parts, None)
    moments = estimate.moments
    assert np.array([moments.totals, moments.changes, moments.products]) == pytest.approx(square, rel=1e-9)
    assert estimate.means == pytest.approx(MEANS)
    assert estimate.stderr**2 * parts == pytest.approx(4 * square[0] - total**2, rel=1e-9)


@ORACLES
def test_errors_and_intervals_at_full_size(oracle) -> None:
    """Squared errors over standard errors squared have a chi-squared sum; all six fail by chance with 1e-9.

    Of 150 intervals at 0.95 of one key more than 31 miss with probability below 1e-10.
    """
    scheme, rounds = small("2", oracle), 150
    rng, known = np.random.default_rng(4), scheme.prepare(PEOPLE)
    squares, missed, of_means = [], np.zeros(3), np.zeros(3)
    for _ in range(rounds):
        people = known[rng.choice(4, 8000, p=SHARES)]
        reports = Reports(scheme.fingerprint, scheme.perturb(people, fresh()))
        found = scheme.server().add(reports).estimate()
        squares.append(
            [
                ((found.frequencies - FREQUENCIES) / found.stderr) ** 2,
                ((found.means - MEANS) / found.mean_stderr)[[0, 2, 2]] ** 2,  # key 1 is at a bound, where means are cut
            ]
        )
        low, high = found.interval()
        missed += (low > FREQUENCIES) | (high < FREQUENCIES)
        low, high = found.mean_interval()
        of_means += (low > MEANS + 1e-9) | (high < MEANS - 1e-9)
    for each in np.moveaxis(np.array(squares), 0, 2).reshape(6, rounds):
        assert stats.chi2.ppf(1e-10, rounds) < each.sum() < stats.chi2.isf(1e-10, rounds)
    assert missed.max() <= 31
    assert of_means.max() <= 31


def fresh():
    from discreet.noise import fresh_draws

    return fresh_draws()


def test_a_key_that_nobody_has_has_no_mean() -> None:
    """Its interval is all that the bounds allow, but for one time in 1e9 at this level."""
    scheme = KeyValues(50, (-1, 1), 1, padding=1)
    for _ in range(20):
        found = scheme.server().add(scheme.simulate([{0: 1.0}] * 3000)).estimate()
        low, high = found.mean_interval("0.9999999999")
        assert (low[1:] == -1).all()
        assert (high[1:] == 1).all()
        assert np.isnan(found.means[1:]).any()
        assert np.isnan(found.mean_stderr[np.isnan(found.means)]).all()


@pytest.mark.parametrize("epsilon", [8, 10])
@ORACLES
def test_intervals_hold_keys_that_nobody_has(epsilon, oracle) -> None:
    """Where a lie is so rare that most keys are in no report, as in the test of tables: of 200 more than 75 < 1e-13."""
    scheme = KeyValues(6, (0, 10), epsilon, padding=1, oracle=oracle)
    people, missed = scheme.prepare([{0: 5}, {}] * 400), 0
    for _ in range(200):
        reports = Reports(scheme.fingerprint, scheme.perturb(people, fresh()))
        found = scheme.server().add(reports).estimate()
        missed += bool(found.interval()[0][5] > 0)
        assert (found.stderr > 0).all()
    assert missed <= 75


def test_means_of_rare_keys_are_held() -> None:
    """At ε = 20 reports are as they are: of 300 intervals at 0.95 more than 45 miss with probability below 1e-10.

    Some five people have the key; an interval of the normal approximation around their ratio alone would miss half.
    """
    scheme, rng, missed = KeyValues(2, (-1, 1), 20, padding=1), np.random.default_rng(2), 0
    people = scheme.prepare([{0: 0.8}, {1: 0.0}])
    for _ in range(300):
        held = people[(rng.random(500) > 0.01).astype(int)]
        found = scheme.server().add(Reports(scheme.fingerprint, scheme.perturb(held, fresh()))).estimate()
        low, high = found.mean_interval()
        missed += not low[0] <= 0.8 <= high[0]
        assert -1 <= low[0] <= high[0] <= 1
    assert missed <= 45


def test_people_with_more_pairs_than_slots_count_for_less() -> None:
    scheme = KeyValues(4, (0, 1), 30, padding=2)
    held = [{0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}] * 40_000
    found = scheme.server().add(scheme.simulate(held)).estimate()
    assert found.frequencies == pytest.approx([0.5] * 4, abs=0.04)  # 7 standard errors are 0.03
    assert found.means == pytest.approx([1.0] * 4, abs=1e-6)


# What goes in.


def test_equal_sets_of_pairs_are_one_value_in_any_order_and_shape() -> None:
    scheme = KeyValues(["a", "ü"], (0, 10), 1, padding=2)
    wanted = scheme.prepare({"a": 5, "ü": 10}).tolist()
    assert wanted == ["0000000080000000" + "0000000300000000"]
    for values in (
        {"ü": 10.0, "a": 5.0},
        [{"ü": 11, "a": np.float32(5)}],
        [[("ü", 10), ("a", 5)]],
        [(["a", 5], ["ü", 10])],
        np.array([{"a": 5, "ü": 10}], dtype=object),
    ):
        assert scheme.prepare(values).tolist() == wanted
    assert scheme.prepare([{}, {"a": -0.0}, [], {"a": -5}]).tolist() == ["", "0" * 16, "", "0" * 16]
    assert scheme.prepare({}).tolist() == [""]
    assert scheme.prepare([]).tolist() == []
    assert len(scheme.client().encode([])) == 0


class Shorter(dict[str, float]):
    """Has fewer keys than it gives."""

    def __len__(self) -> int:
        return 1


WRONG = {
    "fewer than there are": Shorter(a=1, b=2),
    "text": "ab",
    "number": 3,
    "none": None,
    "list of texts": ["ab"],
    "list of numbers": [1],
    "pairs of one person": [("a", 1)],
    "texts as pairs": [["a1"]],
    "triples": [[("a", 1, 2)]],
    "twice": [[("a", 1), ("a", 2)]],
    "twice the same": [[("a", 1), ("b", 2), ("a", 1)]],
    "unknown key": {"c": 1},
    "whole key": {0: 1},
    "no key": {None: 1},
    "nan": {"a": math.nan},
    "no number": {"a": None},
    "a text": {"a": "ten"},
    "a list": {"a": [1, 2]},
    "in a list": [{"a": 1}, {"b": math.nan}],
    "complex": {"a": 1j},
}


@pytest.mark.parametrize("values", WRONG.values(), ids=list(WRONG))
def test_what_is_no_set_of_pairs_is_refused_before_anything_is_drawn(values, monkeypatch) -> None:
    scheme = KeyValues(["a", "b"], (0, 1), 1, padding=1)
    monkeypatch.setattr("discreet.local._client.fresh_draws", None)
    with pytest.raises(ParameterError):
        scheme.client().encode(values)


def test_two_people_may_have_the_same_key() -> None:
    scheme = KeyValues(3, (0, 1), 1, padding=1)
    assert scheme.prepare([{2: 1}, {2: 1}, {0: 1, 2: 0}, {2: 0}]).size == 4
    for key in (3, -1, 1.5, "0", True):
        with pytest.raises(ParameterError):
            scheme.prepare({key: 1})


BAD = {
    "no keys": ([], (0, 1), 1, {"padding": 1}),
    "too many keys": (2**23, (0, 1), 1, {"padding": 1}),
    "equal bounds": (3, (1, 1), 1, {"padding": 1}),
    "one bound": (3, (1,), 1, {"padding": 1}),
    "no epsilon": (3, (0, 1), 0, {"padding": 1}),
    "no slot": (3, (0, 1), 1, {"padding": 0}),
    "half a slot": (3, (0, 1), 1, {"padding": 1.5}),
    "more slots than keys": (3, (0, 1), 1, {"padding": 4}),
    "unknown oracle": (3, (0, 1), 1, {"padding": 1, "oracle": "optimized_unary"}),
    "no policy": (3, (0, 1), 1, {"padding": 1, "longitudinal": "x"}),
}


@pytest.mark.parametrize(("domain", "bounds", "epsilon", "more"), BAD.values(), ids=list(BAD))
def test_bad_parameters_are_refused(domain, bounds, epsilon, more) -> None:
    with pytest.raises(ParameterError):
        KeyValues(domain, bounds, epsilon, **more)


@pytest.mark.parametrize("wrong", [([0.1, 0.1], [0, 0, 0]), ([0.1] * 3, [0] * 4), (0.1, 0)])
def test_variances_need_a_number_for_each_key(wrong) -> None:
    with pytest.raises(ParameterError, match="3 numbers"):
        small().variance(*wrong)


# Documents, reports, memory.


@pytest.mark.parametrize("oracle", [None, "kary_randomized_response"])
@pytest.mark.parametrize("longitudinal", ["once", "memoize"])
def test_a_scheme_survives_json(oracle, longitudinal) -> None:
    scheme = KeyValues(["x", "ü"], ("1/3", 2), "1/2", padding=2, oracle=oracle, longitudinal=longitudinal)
    found = from_json(scheme.to_json())
    assert found == scheme
    assert found.fingerprint == scheme.fingerprint
    document = json.loads(scheme.to_json())
    for change in ({"oracle": None}, {"padding": "1"}, {"padding": 3}, {"bounds": [1]}, {"more": 1}, {"domain": []}):
        with pytest.raises(ParameterError):
            from_json(json.dumps({**document, **change}))


def test_reports_are_those_of_the_oracle() -> None:
    scheme = small("1", "kary_randomized_response")
    rows = np.arange(256, dtype=np.uint8).reshape(-1, 1)
    server = scheme.server().add(Reports(scheme.fingerprint, rows))
    assert (server.reports, server.rejected) == (7, 249)
    table = server.estimate().to_arrow()
    assert table.column_names[:3] == ["value", "frequency", "stderr"]
    assert KeyValues(5000, (0, 1), 1, padding=1).layout.width == 2
    with pytest.raises(ParameterError, match="candidates"):
        server.estimate(["a"])


def test_the_same_set_is_told_in_the_same_way() -> None:
    scheme = small(longitudinal="memoize")
    told = set()
    for person in range(60):
        client = scheme.client(bytes([person]) * 16)
        first = client.encode(PEOPLE)
        assert scheme.client(bytes([person]) * 16).encode(PEOPLE) == first
        orders = [list(order) for order in itertools.permutations(PEOPLE[2].items())]
        assert {row.tobytes() for row in client.encode(orders).rows} == {first.rows[2].tobytes()}
        told.add(client.encode({0: 1.0}).rows.tobytes())
        told.add(client.encode({0: 1.0000001}).rows.tobytes())
    assert len(told) > 1
    assert scheme.lifetime_loss(reports=100, values=3).epsilon() == 3
