"""Vectors: exact ε, means without bias, errors, and hostile input. Statistical tests fail by chance below 1e-9."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import zlib
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from local_laws import assert_exact, chance_of_mean, law
from scipy import integrate, signal, special, stats
from vector_laws import FewBooks, assert_law, odds_of_vectors

from discreet.errors import DataError, ParameterError
from discreet.local import PrivUnit, Reports, VectorEstimate, from_json
from discreet.local._exp_epsilon import exp_epsilon
from discreet.local.vectors import _directions
from discreet.local.vectors._caps import best_candidates, best_likely, largest_slope, slope
from discreet.local.vectors._directions import UNIT, directions, normals
from discreet.noise import fresh_draws

SECRET = bytes(range(32))


@pytest.mark.sampled
@pytest.mark.parametrize("epsilon", ["1e-6", "0.5", "1", "2", "5", "20", "100"])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_exact_epsilon_is_the_claim(dimension, epsilon) -> None:
    found = odds_of_vectors(FewBooks(dimension, epsilon, candidates=8, likely=3))
    assert_exact(found, Fraction(epsilon))
    assert_exact(found, Fraction(FewBooks(dimension, epsilon).loss.epsilon()))


@pytest.mark.parametrize("dimension", [1, 3])
@pytest.mark.parametrize("length", ["1", "0.5", "0"])
def test_the_law_is_what_the_proof_says(dimension, length) -> None:
    assert_law(FewBooks(dimension, "1.5", candidates=8, likely=2), float(length))


@pytest.mark.parametrize(
    ("dimension", "epsilon", "candidates", "people"),
    [(1, 1, None, 40_000), (2, 4, None, 40_000), (10, 1, None, 40_000), (40, 4, 64, 8000), (100, 1, 6, 10_000)],
)
def test_means_are_unbiased_and_err_as_they_say(dimension, epsilon, candidates, people) -> None:
    """Against the truth by their own standard errors; each vector is there equally often, so people are no sample."""
    scheme = PrivUnit(dimension, epsilon, candidates=candidates, radius=3)
    some = np.zeros((4, dimension))
    some[0, 0], some[1], some[2, -1], some[3] = 3, 3 / math.sqrt(dimension), -1, 0
    values = np.tile(some, (people // 4, 1))
    found = scheme.server().add(scheme.simulate(values)).estimate()
    off = (found.mean - some.mean(axis=0)) / found.stderr
    assert stats.chi2.sf((off**2).sum(), dimension) > 1e-9
    told = found.error**2 * people + (found.mean**2).sum()  # all directions have length 1
    assert told == pytest.approx(scheme.variance(values) + (values**2).sum(axis=1).mean(), rel=1e-3)


def square_distances(scheme: PrivUnit, values: np.ndarray, rounds: int) -> np.ndarray:
    """The squared distance of each round as a share of theory."""
    theory, truth = scheme.variance(values) / len(values), values.mean(axis=0)
    reports = scheme.simulate(np.tile(values, (rounds, 1)))
    parts = (Reports(reports.fingerprint, rows) for rows in np.array_split(reports.rows, rounds))
    means = (scheme.server().add(part).estimate().mean for part in parts)
    return np.array([((mean - truth) ** 2).sum() / theory for mean in means])


def mixed(people: int, dimension: int) -> np.ndarray:
    values = np.random.default_rng(5).normal(size=(people, dimension))
    return values / np.maximum(np.linalg.norm(values, axis=1), 1e-9)[:, None] * np.linspace(0, 1, people)[:, None]


@pytest.mark.parametrize(("dimension", "epsilon"), [(3, 1), (15, 4), (30, "0.1")])
def test_mean_squared_errors_are_those_of_theory(dimension, epsilon) -> None:
    squares = square_distances(PrivUnit(dimension, epsilon), mixed(40, dimension), rounds=300)
    assert squares.std() / math.sqrt(300) < 0.06
    assert chance_of_mean(squares) > 1e-9


@pytest.mark.soak
@pytest.mark.parametrize("epsilon", ["0.5", "1", "4", "8"])
@pytest.mark.parametrize("dimension", [2, 10, 100])
def test_mean_squared_errors_are_within_5_percent_of_theory(dimension, epsilon) -> None:
    """40,000 squared coordinates or more: 5 % is 6.5 standard errors at least."""
    rounds = 40_000 // dimension + 500
    squares = square_distances(PrivUnit(dimension, epsilon), mixed(20, dimension), rounds)
    assert 6.5 * squares.std() / math.sqrt(rounds) < 0.05
    assert abs(squares.mean() - 1) < 0.05


@pytest.mark.parametrize("epsilon", ["0.01", "1", "3.3", "8", "12"])
@pytest.mark.parametrize("dimension", [1, 2, 3, 17, 1000, 65_536])
def test_candidates_are_enough(dimension, epsilon) -> None:
    """Within 2 % of PrivUnit with the best cap, and half as many are not; no other number of likely ones is better."""
    exact = Fraction(epsilon)
    scheme = PrivUnit(dimension, epsilon)
    best = largest_slope(dimension, exact) ** -2
    assert best * (1 - 1e-6) <= scheme.slope**-2 <= 1.02 * best
    half = scheme.candidates // 2
    if half > 1:
        assert slope(dimension, exact, half, best_likely(dimension, exact, half)) ** -2 > 1.02 * best
    near = range(max(1, scheme.likely - 20), min(half, scheme.likely + 20) + 1)
    slopes = {likely: slope(dimension, exact, scheme.candidates, likely) for likely in near}
    assert max(slopes.values()) == slopes[scheme.likely]


@pytest.mark.parametrize("epsilon", [0.5, 1, 4, 8])
@pytest.mark.parametrize("dimension", [2, 5, 60])
def test_the_best_cap_is_that_of_the_papers(dimension, epsilon) -> None:
    """Bhowmick et al. 2018, Algorithm 1 and Equation 14, at all heights γ of the cap."""
    alpha = (dimension - 1) / 2
    height = np.linspace(0, 0.999, 4000)
    inside = special.betaincc(alpha, alpha, (1 + height) / 2)
    height, inside = height[inside > 1e-100], inside[inside > 1e-100]
    p = inside * math.exp(epsilon) / (inside * math.exp(epsilon) + 1 - inside)
    lead = (1 - height**2) ** alpha / ((dimension - 1) * 2.0 ** (dimension - 2) * special.beta(alpha, alpha))
    published = lead * (p / inside - (1 - p) / (1 - inside))
    assert largest_slope(dimension, Fraction(epsilon)) == pytest.approx(published.max(), rel=1e-5)


@pytest.mark.parametrize(
    ("dimension", "pairs", "likely"), [(3, 32, 5), (10, 512, 5), (100, 128, 17), (1000, 1024, 7), (2, 1, 1), (7, 3, 3)]
)
def test_the_slope_is_the_integral(dimension, pairs, likely) -> None:
    """E of the sum of the w largest: pairs · ∫ s·f(s)·P(at most w − 1 of the others are above s) ds."""
    alpha, epsilon = (dimension - 1) / 2, Fraction(2)

    def height(s: float) -> float:
        few = 1.0 if likely == pairs else special.betaincc(likely, pairs - likely, special.betaincc(0.5, alpha, s * s))
        return s * 2 * (1 - s * s) ** (alpha - 1) / special.beta(0.5, alpha) * few

    ends = np.append(np.linspace(0, min(0.99, 12 / math.sqrt(dimension)), 40), 1)
    pieces = (integrate.quad(height, *each, epsabs=1e-13)[0] for each in itertools.pairwise(ends))
    more = math.e**2 - 1
    expected = more * pairs * math.fsum(pieces) / (likely * more + 2 * pairs)
    assert slope(dimension, epsilon, 2 * pairs, likely) == pytest.approx(expected, rel=1e-9)


def test_slopes_of_one_dimension_are_those_of_a_sign() -> None:
    scheme = PrivUnit(1, 1)
    assert (scheme.candidates, scheme.likely, scheme.layout.width) == (2, 1, 7)
    assert scheme.slope == pytest.approx((math.e - 1) / (math.e + 1), rel=1e-14)
    assert set(directions(np.arange(99), np.zeros(99, dtype=np.int64), 1).ravel()) == {-UNIT, UNIT}


def by_hand(book: int, line: int, dimension: int) -> list[int]:
    """The specification, in whole numbers of any size."""
    step, wrap = 0x9E3779B97F4A7C15, 2**64

    def mixed(z: int) -> int:
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % wrap
        z = (z ^ z >> 27) * 0x94D049BB133111EB % wrap
        return z ^ z >> 31

    row = mixed((mixed((book + step) % wrap) + (line + 1) * step) % wrap)
    half = -(-dimension // 2)
    words = [mixed((row + (t + 1) * step) % wrap) for t in range(half)]
    lanes = [word >> 16 * i & 0xFFFF for word in words for i in range(4)]
    table = _directions._table().tolist()
    return [table[lanes[i]] + table[lanes[2 * half + i]] for i in range(dimension)]


@pytest.mark.parametrize("dimension", [1, 2, 7, 1000])
def test_directions_are_those_of_the_specification(dimension) -> None:
    books, lines = np.array([0, 5, 2**48 - 1]), np.array([0, 32_767, 77])
    found = normals(books, lines, dimension)
    expected = [by_hand(*pair, dimension) for pair in zip(books.tolist(), lines.tolist(), strict=True)]
    assert found.tolist() == expected
    for row, wanted in zip(directions(books, lines, dimension).tolist(), expected, strict=True):
        square = sum(g * g for g in wanted)
        for z, g in zip(row, wanted, strict=True):  # |z − 2**16·g/√square| ≤ 1/2, in whole numbers
            assert z == int(z)
            assert (
                max(0, 2 * abs(int(z)) - 1) ** 2 * square <= (2 * UNIT * g) ** 2 <= (2 * abs(int(z)) + 1) ** 2 * square
            )
            assert z * g >= 0


def test_directions_never_change() -> None:
    assert hashlib.sha256(_directions._table().astype("<i2").tobytes()).hexdigest()[:16] == "4ed7179bfc91ace9"
    found = directions(np.array([1, 2**40]), np.array([3, 500]), 4)
    assert found.astype(int).tolist() == [[-21713, 39698, 7414, 46826], [21121, 6808, 13300, 60213]]


def test_the_table_does_not_hang_on_the_last_bits_of_floating_point() -> None:
    """No entry is nearer to a half than 1e-5, and floating point is off by less than 1e-7: at the worst entries too."""
    import mpmath

    exact = 4096 * _directions._bin_means()
    gap = np.abs(exact - np.floor(exact) - 0.5)
    assert gap.min() > 1e-5
    with mpmath.workdps(40):
        for k in (*np.argsort(gap)[:20].tolist(), 0, 30_000, 32_766, 32_767):
            shares = [mpmath.mpf(k + i) / 2**15 for i in (0, 1)]
            ends = [mpmath.sqrt(2) * mpmath.erfinv(share) if share < 1 else mpmath.inf for share in shares]
            mean = 2**28 * (mpmath.npdf(ends[0]) - mpmath.npdf(ends[1]))
            assert abs(mean - exact[k]) < 1e-7


def test_directions_are_uniform() -> None:
    """First and second moments, and the fourth along an axis and along a diagonal: each within 6.5 standard errors."""
    people = 150_000
    for dimension in (2, 7):
        found = directions(np.arange(people) * 977, np.arange(people) % 91, dimension) / UNIT
        assert np.abs(np.linalg.norm(found, axis=1) - 1).max() < 1e-4
        assert np.abs(found.mean(axis=0)).max() < 6.5 / math.sqrt(people * dimension)
        for axis in (np.eye(dimension)[0], np.full(dimension, dimension**-0.5)):
            s = found @ axis
            for power, mean in ((2, 1 / dimension), (4, 3 / (dimension * (dimension + 2)))):
                assert abs((s**power).mean() - mean) < 6.5 * (s**power).std() / math.sqrt(people)


@pytest.mark.parametrize(("epsilon", "off"), [(1, 1e-6), (4, 1e-6), (6, 2e-6), (8, 2e-5), (10, 1e-4), (12, 4e-4)])
def test_a_vector_along_an_axis_sees_the_table_hardly(epsilon, off) -> None:
    """The exact law of a coordinate in place of a normal one: what the slope is then, for a dimension without end."""
    scheme = PrivUnit(50_000, epsilon)
    pairs, likely = scheme.candidates // 2, scheme.likely
    table = _directions._table().astype(int)
    entry = np.bincount(table - table.min()) / 2**16
    height = np.maximum(signal.fftconvolve(entry, entry), 0)
    height /= height.sum()
    places = np.arange(height.size) - height.size // 2
    upper = np.where(places > 0, 2 * height, height)[places >= 0][::-1]
    scale = math.sqrt(height @ places.astype(float) ** 2)
    shares = np.append(0, upper.cumsum())
    sums = np.append(0, (upper * np.arange(upper.size)[::-1] / scale).cumsum())
    nodes = special.expit(math.log(likely / (pairs - likely)) + np.linspace(-40, 40, 20_001) / math.sqrt(likely))
    weights = np.exp(stats.beta.logpdf(nodes, likely, pairs - likely)) * nodes * (1 - nodes)
    found = weights @ np.interp(nodes, shares, sums)
    normal = weights @ (2 * stats.norm.pdf(special.ndtri(nodes / 2)))
    assert abs(found / normal - 1) < off


def test_ranks_are_exact_and_do_not_hang_on_the_batch(monkeypatch) -> None:
    scheme = PrivUnit(5, 1, candidates=20, likely=6)
    values = np.random.default_rng(2).integers(-3, 4, size=(20, 5)) * 0.25
    values[7] = 0
    steps = (values * 2**20).astype(np.int32)
    steps[np.linalg.norm(values, axis=1) > 1] = 0
    books, places = np.arange(20) * 3, np.arange(20) % 6
    found = scheme._ranked(steps, books, places)
    for person in range(20):
        told = []
        for line in range(10):
            g = by_hand(int(books[person]), line, 5)
            inner = sum(a * int(b) for a, b in zip(g, steps[person], strict=True))
            told.append((-Fraction(inner**2, sum(a * a for a in g)), line, int(inner < 0)))
        _, line, turned = sorted(told)[places[person]]
        assert found[person] == 2 * line + turned
    for most in (1, 35, 120):
        monkeypatch.setattr(_directions, "_LANES_AT_ONCE", most)
        assert scheme._ranked(steps, books, places).tolist() == found.tolist()


def prepared(values: Any, dimension: int = 3, radius: Any = 1) -> list[bytes]:
    return PrivUnit(dimension, 1, radius=radius).prepare(values).tolist()


def test_vectors_have_one_form() -> None:
    assert prepared([-0.0, 0.0, 0.5]) == prepared([[0.0, -0.0, 0.5]]) == prepared([0, 0, Fraction(1, 2)])
    assert prepared([3, 0, 4]) == prepared([0.6, 0, 0.8]) == prepared([3e300, 0, 4e300]) == prepared([3.0, 5e-324, 4.0])
    assert prepared([5e-324, -5e-324, 0]) == prepared([0, 0, 0]) == prepared([1e-9, 0, 0])
    assert prepared([1e300, 0, 0], radius="1e300") == prepared([1, 0, 0]) == prepared([2e-300, 0, 0], radius="1e-300")
    assert prepared([7.5, 0, 0], radius=30) == prepared([0.25, 0, 0])
    biggest = np.finfo(np.float64).max
    assert prepared([biggest, biggest, -biggest]) == prepared([1, 1, -1])
    for scale in (0.3, 0.9999999, 1, 1.0000001, 1.3, 1.99, 2, 77, 1e10):
        steps = np.frombuffer(prepared(np.array([0.48, -0.6, 0.64]) * scale)[0], dtype="<i4")
        assert np.abs(steps - np.array([0.48, -0.6, 0.64]) * min(scale, 1) * 2**20).max() <= 1
    assert prepared([]) == prepared(np.zeros((0, 3))) == []
    wide = np.full(65_536, biggest)
    assert PrivUnit(65_536, 1, candidates=2).simulate(wide).width == 7


@pytest.mark.parametrize(
    "values",
    [
        math.nan,
        1.0,
        "abc",
        None,
        [1, 2],
        [1, 2, math.nan],
        [1, 2, math.inf],
        [[1, 2, 3], [1, 2, -math.inf]],
        [[1, 2, 3], [1, 2]],
        [[[1, 2, 3]]],
        [1, 2, None],
        ["1", "2", "3"],
        [1, 2, 10**400],
        [1j, 0, 0],
        [[]],
        np.zeros((3, 1)),
        np.ma.array([1.0, 2.0, 3.0], mask=[0, 0, 1]),
        np.ma.array([1, 2, 3], mask=[0, 0, 1]),
        np.array(["2020-01-01"] * 3, dtype="datetime64[D]"),
        {"a": 1},
        object(),
    ],
)
def test_what_is_no_vector_is_refused(values) -> None:
    scheme = PrivUnit(3, 1)
    for refusing in (scheme.client().encode, scheme.variance):
        with pytest.raises(ParameterError, match="vector of 3 finite numbers"):
            refusing(values)


def test_a_thousand_extreme_vectors() -> None:
    draw = np.random.default_rng(8)
    values = np.ldexp(draw.normal(size=(1000, 3)), draw.integers(-1074, 1023, size=(1000, 3)))
    for radius in ("1e-300", 1, "1e300"):
        scheme = PrivUnit(3, 1, radius=radius)
        server = scheme.server().add(scheme.client().encode(values))
        assert (server.reports, server.rejected) == (1000, 0)
        assert np.isfinite(server.estimate().mean).all()


def test_every_row_of_bytes_is_a_report_or_is_rejected() -> None:
    scheme = PrivUnit(5, 1, candidates=6)
    noise = np.random.default_rng(1).integers(0, 256, size=(3000, 7), dtype=np.uint8)
    server = scheme.server().add(Reports(scheme.fingerprint, noise))
    assert server.reports == int((noise[:, 6] < 6).sum())
    assert server.reports + server.rejected == 3000
    assert server.add(Reports(scheme.fingerprint, noise[:, :6].copy())).rejected == 3000 - server.reports + 3000
    with pytest.raises(ParameterError, match="every coordinate"):
        server.estimate(candidates=["a"])


def test_servers_add_up_bit_for_bit() -> None:
    scheme = PrivUnit(9, 2)
    batches = [scheme.simulate(mixed(people, 9)) for people in (1, 700, 30_000)]
    parts = [scheme.server().add(each) for each in batches]
    one = scheme.server().add(Reports.together(batches))
    assert bytes(parts[2] + parts[0] + parts[1]) == bytes(one)
    assert scheme.server(bytes(one)) == one
    assert (one.counts[:9] < 0).any()


def state(scheme: PrivUnit, *vector: int) -> bytes:
    body = b"ds\x01" + scheme.fingerprint + np.array(vector, dtype="<i8").tobytes()
    return body + zlib.crc32(body).to_bytes(4, "little")


def test_states_that_no_reports_add_up_to_are_refused() -> None:
    scheme = PrivUnit(1, 1)
    assert scheme.reach == (-(2**16), 2**20)
    for counts in ((-5 * 2**16, 0), (5 * 2**20, 5 * 2**20)):
        assert scheme.server(state(scheme, 5, 0, *counts)).reports == 5
    for vector in (
        (5, 0, -5 * 2**16 - 1, 0),
        (5, 0, 0, 5 * 2**20 + 1),
        (0, 0, -1, 0),
        (0, 0, 1, 0),
        (-1, 0, 0, 0),
        (2**61, 0, -(2**61) - 2**10, 0),
        (2**61, 0, -(2**63), 0),
        (2**61, 0, 2**63 - 1, 2**63 - 1),
    ):
        with pytest.raises(DataError, match="no reports add up to"):
            scheme.server(state(scheme, *vector))
    full = scheme.server(state(scheme, 2**60, 0, -(2**60), 2**60))
    with pytest.raises(DataError, match="more reports than there can be"):
        full.merge(full)
    honest = scheme.server().add(scheme.simulate([[1.0]] * 1000))
    assert honest.counts[1] == 1000 * 2**20


def test_intervals_hold_the_mean() -> None:
    """Of 1,200 intervals at 0.999 more than 21 miss with probability below 1e-9, even were the level 0.997."""
    scheme, missed = PrivUnit(4, 3, radius=2, candidates=8), 0
    values = np.repeat([[2.0, 0, 0, 0], [-2, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0.5, 0]], 150, axis=0)
    for _ in range(300):
        low, high = scheme.server().add(scheme.simulate(values)).estimate().interval("0.999")
        missed += int((~((low <= values.mean(axis=0)) & (values.mean(axis=0) <= high))).sum())
    assert missed <= 21


def test_estimates_as_tables() -> None:
    found = VectorEstimate(np.array([1.0, -2.0]), np.array([3.0, 4.0]), 7)
    assert found.error == 5
    table = found.to_arrow(level=0.5)
    assert table.column_names == ["value", "mean", "stderr", "low", "high"]
    assert table["value"].to_pylist() == [0, 1]
    assert table["low"][0].as_py() == pytest.approx(1 - 3 * stats.norm.ppf(0.75))


@pytest.mark.parametrize(
    "changes",
    [
        {"dimension": 0},
        {"dimension": 2**16 + 1},
        {"dimension": 2.5},
        {"dimension": True},
        {"epsilon": 0},
        {"epsilon": 101},
        {"radius": 0},
        {"radius": -1},
        {"radius": "1e301"},
        {"radius": math.nan},
        {"radius": math.inf},
        {"candidates": 0},
        {"candidates": 3},
        {"candidates": 2**16 + 2},
        {"candidates": 8, "likely": 5},
        {"candidates": 8, "likely": 0},
        {"likely": 1},
        {"longitudinal": "never"},
    ],
)
def test_bad_parameters_are_refused(changes) -> None:
    with pytest.raises(ParameterError):
        PrivUnit(**{"dimension": 3, "epsilon": 1, **changes})


def test_a_document_says_all_that_was_searched_for() -> None:
    scheme = PrivUnit(np.int64(100), "1.5", radius="2.5", longitudinal="memoize")
    document = json.loads(scheme.to_json())
    assert list(document) == [
        *("scheme", "version", "dimension", "epsilon", "radius", "candidates", "likely", "hash", "longitudinal")
    ]
    assert from_json(scheme.to_json()) == scheme
    assert from_json(json.dumps({**document, "likely": 7})) == PrivUnit(
        100, "1.5", radius="2.5", candidates=scheme.candidates, likely=7, longitudinal="memoize"
    )
    for change in ({"hash": "splitmix-normal-2"}, {"likely": None}, {"candidates": 7}, {"more": 1}, {"likely": 10**9}):
        with pytest.raises(ParameterError):
            from_json(json.dumps({**document, **change}))
    for missing in ("likely", "candidates", "radius", "hash"):
        with pytest.raises(ParameterError):
            from_json(json.dumps({key: value for key, value in document.items() if key != missing}))


PINS: dict[int, tuple[str, ...]] = {
    1: ("958ebd44cb3906", "515fd7e0ce3403", "b141bdf5e97504"),
    6: ("db1c83a66d9a09", "c260e31e22b907", "cbf31986b7dd0b"),
}


def test_what_clients_remember_never_changes() -> None:
    """As in `test_remembered.py`: never edit a pin."""
    values = ([0.5, 0, 0], [3, -4, 0], [0, 0, 0])
    for likely, pins in PINS.items():
        client = PrivUnit(3, "1.5", candidates=16, likely=likely, longitudinal="memoize").client(SECRET)
        assert tuple(client.encode(value).rows.tobytes().hex() for value in values) == pins
    wide = PrivUnit(1000, 8, candidates=2048, likely=7, longitudinal="memoize").client(SECRET)
    assert wide.encode(np.arange(1000) / 10_000).rows.tobytes().hex() == "2220e08e5383b603"


def test_equal_vectors_are_remembered_as_one() -> None:
    for i in range(20):
        client = PrivUnit(2, 1, longitudinal="memoize").client(SECRET + bytes([i]))
        assert client.encode([-0.0, 7]) == client.encode([0, 1]) == client.encode([5e-324, 1])
        assert (
            client.encode([[0, 1], [1, 0], [0, 1]]).rows[[0, 2]].tolist() == client.encode([[0, 1]] * 2).rows.tolist()
        )
        assert client.encode([0, 1]) != client.encode([1, 0])


def test_a_client_draws_a_book_for_each_report() -> None:
    rows = PrivUnit(3, 1).client().encode([[1.0, 0, 0]] * 2000).rows
    assert len({bytes(row[:6]) for row in rows}) > 1990
    assert len(rows) == len(PrivUnit(3, 1).perturb(PrivUnit(3, 1).prepare([[1.0, 0, 0]] * 2000), fresh_draws()))


def test_twice_the_law_is_the_law() -> None:
    """A short vector's law is between those of both directions."""
    scheme = FewBooks(2, 1, candidates=4, likely=1)
    ahead, back, short = (law(scheme, value) for value in ([1, 0], [-1, 0], [0.5, 0]))
    for report, weight in short.items():
        assert weight == Fraction(3, 4) * ahead[report] + Fraction(1, 4) * back[report]
    assert max(ahead[report] / back[report] for report in ahead) == exp_epsilon(Fraction(1))


def test_more_candidates_err_less() -> None:
    variances = [PrivUnit(50, 6, candidates=2**power).variance([0.0] * 50) for power in range(1, 17)]
    assert variances == sorted(variances, reverse=True)
    assert best_candidates(50, Fraction(6)) == 512
