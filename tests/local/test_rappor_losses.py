"""RAPPOR's losses, exactly: both stages are run for every way in which their draws can fall."""

from __future__ import annotations

import itertools
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from local_laws import Branch, assert_exact, law, odds_of

from discreet.errors import ParameterError
from discreet.local import BasicRappor, Rappor
from discreet.local.rappor._two_stage import TwoStage, log_above

STAGES = [
    ("0.39", "0.61", "0.45"),
    ("0.61", "0.39", "0.45"),
    ("0.2", "0.9", "0.1"),
    ("0", "0.5", "0.3"),
    ("1", "0.3", "0.6"),
    ("0", "1", "0.25"),
    ("1", "0", "0.25"),
]


def exact(loss) -> Fraction:
    return loss.count * loss.term.eps if hasattr(loss, "count") else loss.eps


def laws_of_reports(scheme, values: list, reports: int) -> list[dict[bytes, Fraction]]:
    """The joint law of several reports of one permanent response, for each value, by the code of both stages."""
    size = scheme.layout.bits
    stages = TwoStage(scheme.p, scheme.q, scheme.f)
    found = []
    for value in values:
        joint: dict[bytes, Fraction] = defaultdict(Fraction)
        kept_laws = every(lambda draws, value=value: kept_bits(scheme, value, draws))
        for kept, weight in kept_laws.items():
            row = np.frombuffer(kept, dtype=np.uint8).reshape(1, -1)
            one = every(lambda draws, row=row: stages.report(row, size, draws))
            for several in itertools.product(one, repeat=reports):
                chance = weight
                for report in several:
                    chance *= one[report]
                joint[b"".join(several)] += chance
        assert sum(joint.values()) == 1
        found.append(joint)
    return found


def kept_bits(scheme, value, draws):
    prepared = scheme.prepare(value)
    if isinstance(scheme, BasicRappor):
        return scheme._permanent(prepared, draws)
    return scheme._permanent(prepared, np.zeros(1, dtype=np.int64), draws)


def every(make) -> dict[bytes, Fraction]:
    """The law of what `make` returns for the draws that it is given."""
    found: dict[bytes, Fraction] = defaultdict(Fraction)
    path: list[int] = []
    while True:
        branch = Branch(path)
        row = make(branch).tobytes()
        found[row] += branch.weight
        del path[branch.at :]
        while path and path[-1] + 1 == branch.options[len(path) - 1]:
            path.pop()
        if not path:
            return {row: weight for row, weight in found.items() if weight}
        path[-1] += 1


def worst(laws: list[dict[bytes, Fraction]]) -> Fraction:
    assert len({frozenset(each) for each in laws}) == 1
    return max(one[row] / two[row] for one, two in itertools.permutations(laws, 2) for row in one)


@pytest.mark.parametrize("stages", STAGES)
def test_one_report_of_basic_rappor_has_its_loss_exactly(stages) -> None:
    scheme = BasicRappor(3, *stages)
    assert_exact(odds_of(scheme, [0, 1, 2]), exact(scheme.loss))


@pytest.mark.parametrize("stages", STAGES)
@pytest.mark.parametrize("reports", [1, 2, 3])
def test_several_reports_of_a_value_have_the_lifetime_loss_exactly(stages, reports) -> None:
    scheme = BasicRappor(2, *stages)
    loss = scheme.lifetime_loss(reports=reports, values=1)
    assert_exact(worst(laws_of_reports(scheme, [0, 1], reports)), exact(loss))
    assert exact(loss) <= min(reports * exact(scheme.loss), exact(scheme.permanent_loss)) + Fraction(1, 10**20)


@pytest.mark.parametrize("stages", STAGES)
def test_the_permanent_response_has_the_permanent_loss_exactly(stages) -> None:
    scheme = BasicRappor(3, *stages)
    laws = [every(lambda draws, value=value: kept_bits(scheme, value, draws)) for value in range(3)]
    assert_exact(worst(laws), exact(scheme.permanent_loss))


def filters(scheme: Rappor, texts: list[str]) -> dict[str, frozenset[int]]:
    from discreet.local.rappor._decode import bloom_columns

    columns = bloom_columns(texts, [0], scheme.bits, scheme.hashes).toarray()
    return {text: frozenset(np.flatnonzero(columns[:, place]).tolist()) for place, text in enumerate(texts)}


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("stages", STAGES)
def test_one_report_of_rappor_has_its_loss_where_values_share_no_bit(stages) -> None:
    scheme = Rappor(*stages, bits=4, hashes=2, cohorts=1)
    sets = filters(scheme, [str(number) for number in range(40)])
    one, two = next((a, b) for a, b in itertools.combinations(sets, 2) if len(sets[a] | sets[b]) == 4)
    assert_exact(odds_of(scheme, [one, two]), exact(scheme.loss))
    laws = [every(lambda draws, value=value: kept_bits(scheme, value, draws)) for value in (one, two)]
    assert_exact(worst(laws), exact(scheme.permanent_loss))


def test_values_that_share_bits_are_told_apart_less() -> None:
    scheme = Rappor("0", "1", "0.25", bits=4, hashes=2, cohorts=1)
    sets = filters(scheme, [str(number) for number in range(400)])
    one, two = next((a, b) for a, b in itertools.combinations(sets, 2) if len(sets[a] | sets[b]) == 4)
    shared = next(b for b in sets if len(sets[one] & sets[b]) == 1 and len(sets[b]) == 2)
    fewer = next(b for b in sets if len(sets[b]) == 1 and not sets[one] & sets[b])
    whole, part, most = (odds_of(scheme, [one, other]) for other in (two, shared, fewer))
    assert (part**2, most**4) == (whole, whole**3)


def test_cohorts_do_not_depend_on_values() -> None:
    scheme = Rappor("0.2", "0.9", "0.5", bits=2, hashes=1, cohorts=3)
    for value in ("a", "b"):
        cohorts: dict[int, Fraction] = defaultdict(Fraction)
        for report, weight in law(scheme, value).items():
            cohorts[report[0]] += weight
        assert cohorts == dict.fromkeys(range(3), Fraction(1, 3))


def test_published_losses() -> None:
    scheme = Rappor("0.39", "0.61", "0.45", bits=8, hashes=2, cohorts=128)
    assert scheme.loss.epsilon() == pytest.approx(0.973, abs=5e-4)
    assert scheme.permanent_loss.epsilon() == pytest.approx(4.947, abs=5e-4)
    # Erlingsson, Pihur and Korolova 2014, Section 5: q = 0.75, p = 0.5, f = 0.5, h = 2.
    paper = Rappor("0.5", "0.75", "0.5", bits=128, hashes=2, cohorts=8)
    assert paper.permanent_loss.epsilon() == pytest.approx(4 * np.log(3), abs=1e-12)
    assert paper.loss.epsilon() == pytest.approx(2 * np.log(0.6875 * 0.4375 / (0.5625 * 0.3125)), abs=1e-12)


@pytest.mark.parametrize("epsilon", ["1e-6", "0.5", "2", "100"])
@pytest.mark.parametrize("hashes", [1, 2, 16])
def test_schemes_made_from_goals_are_within_them_and_near(epsilon, hashes) -> None:
    near = Fraction(1, 10**18)
    goal = Fraction(epsilon)
    plain = Rappor.from_epsilon(epsilon, bits=64, hashes=hashes, cohorts=4)
    assert (plain.p, plain.q) == (0, 1)
    for loss in (plain.loss, plain.permanent_loss, plain.lifetime_loss(reports=10**9, values=1)):
        assert goal - near < exact(loss) <= goal
    twice = (
        Rappor.from_epsilon(epsilon, goal / Fraction("1.5"), bits=64, hashes=hashes, cohorts=4) if goal > 1 else None
    )
    if twice is not None:
        assert twice.p + twice.q == 1
        assert goal - near < exact(twice.permanent_loss) <= goal
        assert goal / Fraction("1.5") - near < exact(twice.loss) <= goal / Fraction("1.5")
        assert twice.f == plain.f
    basic = BasicRappor.from_epsilon(5, 100, epsilon) if goal < 100 else BasicRappor.from_epsilon(5, 100, 99)
    assert exact(basic.loss) <= min(goal, 99)
    assert 100 - near < exact(basic.permanent_loss) <= 100


def test_the_loss_of_a_lifetime_is_the_least() -> None:
    """Between one report and the permanent response, concave, and never past either."""
    scheme = Rappor("0.39", "0.61", "0.45", bits=8, hashes=2, cohorts=128)

    def total(reports: int, values: int = 1) -> Fraction:
        return exact(scheme.lifetime_loss(reports=reports, values=values))

    each = [total(reports) for reports in range(1, 60)]
    steps = np.diff([float(one) for one in each])
    assert (steps > 0).all()
    assert (np.diff(steps) < 0).all()
    assert each[0] == exact(scheme.loss)
    assert total(10**6) == total(2**60) == exact(scheme.permanent_loss)
    assert total(3, 3) == 3 * exact(scheme.loss)
    assert total(7, 3) == 2 * total(2) + total(3)
    splits = [total(a) + total(b) + total(7 - a - b) for a in range(1, 6) for b in range(1, 7 - a)]
    assert max(splits) == total(7, 3)
    once = Rappor.from_epsilon(2, bits=8, hashes=2, cohorts=8, longitudinal="once")
    assert once.lifetime_loss(reports=9, values=1).epsilon() == pytest.approx(18)
    for reports, values in ((0, 0), (1, 2), (True, 1)):
        with pytest.raises(ParameterError):
            scheme.lifetime_loss(reports=reports, values=values)


def test_that_values_change_is_not_hidden() -> None:
    """The lifetime loss says so: a pattern of equal values shows, in any scheme that remembers."""
    scheme = Rappor.from_epsilon(2, bits=64, hashes=2, cohorts=8)
    client = scheme.client(secret=bytes(16))
    same, different = client.encode(["a", "a"]), client.encode(["a", "b"])
    assert bytes(same.rows[0]) == bytes(same.rows[1]) == bytes(different.rows[0])
    assert bytes(different.rows[0]) != bytes(different.rows[1])


@pytest.mark.parametrize("odds", ["1", "1.0000000000001", "1.5", "2", "3", "1e30", "1e90"])
def test_the_logarithm_is_certified(odds) -> None:
    import mpmath

    found = log_above(Fraction(odds))
    with mpmath.workdps(80):
        true = mpmath.log(mpmath.mpf(Fraction(odds).numerator) / Fraction(odds).denominator)
        bound = mpmath.mpf(found.numerator) / found.denominator
        assert 0 <= bound - true < mpmath.mpf(10) ** -24
