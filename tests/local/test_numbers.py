"""Numbers: exact ε, means without bias, variances, and distributions. Statistical tests fail by chance below 1e-9."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from local_laws import assert_exact, chance_of_mean, law, odds_of

from discreet.errors import ParameterError
from discreet.local import Duchi, Hybrid, Piecewise, Reports, SquareWave, from_json
from discreet.local._exp_epsilon import exp_epsilon
from discreet.local.numbers._window import Window

MEANS = pytest.mark.parametrize("kind", [Duchi, Piecewise, Hybrid])
EPSILONS = ("0.5", "1", "2", "4")


@pytest.mark.parametrize(("positions", "width"), [(2, 1), (4, 3), (5, 1), (3, 4)])
@pytest.mark.parametrize("weight", [Fraction(27, 10), Fraction(100)])
def test_windows_are_what_they_say(positions, width, weight) -> None:
    """Their law, its mean and its square, by summing over all cells."""
    window = Window(positions, width, weight)
    for s in range(positions):
        weights = [weight if s <= cell < s + width else Fraction(1) for cell in range(window.cells)]
        assert sum(weights) == window.total
        assert sum(cell * each for cell, each in enumerate(weights)) / window.total == window.mean(Fraction(s))
        assert sum(cell**2 * each for cell, each in enumerate(weights)) / window.total == window.square(s)


class OnGrid(Piecewise):
    """The piecewise mechanism on a grid that can be enumerated."""

    @property
    def window(self) -> Window:
        return Window(6, 3, exp_epsilon(self.epsilon))


@pytest.mark.parametrize("epsilon", ["1e-6", *EPSILONS, "20"])
def test_the_exact_epsilon_is_the_claim(epsilon) -> None:
    values = ["-1", "-0.3", "0", "0.9", "1"]
    for scheme in (Duchi((-1, 1), epsilon), OnGrid((-1, 1), epsilon), SquareWave((-1, 1), epsilon, bins=5)):
        found = odds_of(scheme, values)
        assert_exact(found, Fraction(epsilon))
        assert_exact(found, Fraction(scheme.loss.epsilon()))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_exact_epsilon_of_a_mixture_is_the_claim(epsilon, monkeypatch) -> None:
    scheme = Hybrid((-1, 1), epsilon)
    duchi, whole = scheme.windows
    monkeypatch.setattr(Hybrid, "windows", (duchi, Window(5, 2, whole.exp_epsilon)))
    assert_exact(odds_of(scheme, [-1, 0.25, 1]), Fraction(epsilon))


@pytest.mark.parametrize("value", [-1, -0.3, 0.25, 1])
def test_means_and_variances_are_those_of_the_law(value) -> None:
    """Exactly, up to the 2**−32 of a step that stepping may be off."""
    for scheme in (Duchi((-1, 1), 1), OnGrid((-1, 1), 1)):
        levels = 2 * scheme.levels() - 1
        weights = np.zeros(scheme.cells)
        for report, weight in law(scheme, value).items():
            rows = np.frombuffer(report, dtype=np.uint8).reshape(1, -1)
            fields, valid = scheme.layout.unpack(rows)
            assert valid.all()
            weights[fields.numbers[0][0]] += float(weight)
        assert float(weights @ levels) == pytest.approx(value, abs=1e-8)
        assert float(weights @ (levels - value) ** 2) == pytest.approx(scheme.variance(value), rel=1e-7)


def continuous(kind, epsilon: float, t: np.ndarray) -> np.ndarray:
    """The variances that Duchi et al. 2018 and Wang et al. 2019, Lemma 1, give on −1 … 1."""
    grown = math.exp(epsilon / 2)
    duchi = ((grown**2 + 1) / (grown**2 - 1)) ** 2 - t**2
    piecewise = t**2 / (grown - 1) + (grown + 3) / (3 * (grown - 1) ** 2)
    if kind is Duchi or (kind is Hybrid and epsilon <= 0.61):
        return duchi
    return piecewise if kind is Piecewise else piecewise + (duchi - piecewise) / grown


@MEANS
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_grid_costs_next_to_nothing(kind, epsilon) -> None:
    values = np.linspace(-1, 1, 41)
    assert kind((-1, 1), epsilon).variance(values) == pytest.approx(
        continuous(kind, float(epsilon), values).mean(), rel=0.005
    )


@MEANS
@pytest.mark.parametrize("epsilon", ["0.5", "4"])
def test_mean_squared_errors_are_those_of_theory(kind, epsilon) -> None:
    """20,000 estimates of 40 people each: the mean square within 5 % of theory, by a test that errs with 1e-9."""
    scheme, rounds = kind((0, 10), epsilon), 20_000
    values = np.linspace(0, 10, 40)
    rows = scheme.simulate(np.tile(values, rounds))
    fields, _ = scheme.layout.unpack(rows.rows)
    means = (10 * scheme.levels()[fields.numbers[0]]).reshape(rounds, 40).mean(axis=1)
    ratios = (means - 5) ** 2 / (scheme.variance(values) / 40)
    assert chance_of_mean(ratios) > 1e-10
    assert abs(ratios.mean() - 1) < 0.07  # 5 % and what chance adds at this size
    one = scheme.server().add(Reports(rows.fingerprint, rows.rows[:40])).estimate()
    assert one.mean == pytest.approx(means[0])


@MEANS
def test_intervals_hold_the_mean(kind) -> None:
    """Of 300 intervals at 0.999 more than 12 miss with probability below 1e-9, even were the level 0.997."""
    scheme, missed = kind((0, 1), 1), 0
    values = np.repeat([0.1, 0.2, 0.9], 700)
    for _ in range(300):
        low, high = scheme.server().add(scheme.simulate(values)).estimate().interval("0.999")
        missed += not low <= 0.4 <= high
    assert missed <= 12


def test_the_half_width_is_that_of_the_paper() -> None:
    assert [round(SquareWave((0, 1), epsilon).half_width, 4) for epsilon in EPSILONS] == [
        0.3582,
        0.2561,
        0.1293,
        0.0304,
    ]
    exact = [Fraction("0.00099"), Fraction("0.00101")]  # on both sides of where the series begins
    assert abs(SquareWave((0, 1), exact[0]).half_width - SquareWave((0, 1), exact[1]).half_width) < 1e-5
    assert 0 < SquareWave((0, 1), 100).half_width < 1e-40


def dense(window: Window) -> np.ndarray:
    matrix = np.ones((window.cells, window.positions))
    for s in range(window.positions):
        matrix[s : s + window.width, s] = float(window.exp_epsilon)
    return matrix / float(window.total)


@pytest.mark.parametrize("smooth", [True, False])
def test_expectation_maximisation_is_that_of_the_whole_matrix(smooth, monkeypatch) -> None:
    from discreet.local.numbers._distribution import most_likely

    monkeypatch.setattr("discreet.local.numbers._distribution._ROUNDS", 30)
    monkeypatch.setattr("discreet.local.numbers._distribution._GAIN", -math.inf)
    window = SquareWave((0, 1), 2, bins=20).window
    counts = np.arange(window.cells) % 7 + 1
    matrix, shares = dense(window), np.full(20, 1 / 20)
    for _ in range(30):
        shares = shares * (matrix.T @ (counts / (matrix @ shares)))
        if smooth:
            padded = np.r_[shares[0], shares, shares[-1]]
            shares = np.convolve(padded, [0.25, 0.5, 0.25], "valid")
        shares /= shares.sum()
    assert most_likely(counts, window, smooth=smooth) == pytest.approx(shares, rel=1e-9)


def test_distributions_come_out() -> None:
    values = np.random.default_rng(3).beta(2, 5, 200_000) * 50
    scheme = SquareWave((0, 50), 2)
    found = scheme.server().add(scheme.simulate(values)).estimate()
    assert found.shares.min() >= 0
    assert found.shares.sum() == pytest.approx(1)
    assert found.mean == pytest.approx(values.mean(), abs=1)
    for q in (0.1, 0.5, 0.9):
        assert found.quantile(q) == pytest.approx(np.quantile(values, q), abs=2)
        assert found.cdf(found.quantile(q)) == pytest.approx(q, abs=1e-6)
    assert (found.cdf(-5), found.cdf(99)) == (0, pytest.approx(1))
    assert found.to_arrow().column_names == ["low", "high", "share"]
    for q in (-0.1, 2, "x", math.nan):
        with pytest.raises(ParameterError, match="q must"):
            found.quantile(q)


@pytest.mark.parametrize("kind", [Duchi, Piecewise, Hybrid, SquareWave])
def test_hostile_numbers(kind) -> None:
    scheme = kind((-5, 5), 1)
    edges = [math.inf, -math.inf, 1e308, -1e308, 5e-324, 5, -5, -0.0, 10**400 // 10**395]
    assert scheme.server().add(scheme.client().encode(edges)).reports == len(edges)
    for values in (math.nan, [1, math.nan], "x", None, [[1.0]], [None], 10**400):
        with pytest.raises(ParameterError, match="values"):
            scheme.client().encode(values)
    everything = np.arange(2**16, dtype="<u2").view(np.uint8).reshape(-1, 2)[:, : scheme.layout.width]
    server = scheme.server().add(Reports(scheme.fingerprint, np.ascontiguousarray(everything)))
    assert server.reports + server.rejected == 2**16
    assert server.rejected > 0
    with pytest.raises(ParameterError, match="domain"):
        server.estimate(candidates=["a"])


@pytest.mark.parametrize("kind", [Duchi, Piecewise, Hybrid, SquareWave])
def test_numbers_survive_json_files_and_memory(kind) -> None:
    scheme = kind(("-1/3", 7), "0.7", longitudinal="memoize")
    assert from_json(scheme.to_json()) == scheme
    client = scheme.client(secret=bytes(32))
    kept = [bytes(client.encode(value)) for value in (0.1, 0.2, 6)]
    assert [bytes(client.encode(value)) for value in (0.1, 0.2, 6)] == kept
    reports = [scheme.simulate(np.linspace(0, 7, n)) for n in (3, 500)]
    parts = [scheme.server().add(each) for each in reports]
    assert bytes(parts[0] + parts[1]) == bytes(scheme.server().add(Reports.together(reports)))
    assert scheme.server(bytes(parts[1])) == parts[1]


@pytest.mark.parametrize(
    ("kind", "bounds"),
    list(itertools.product([Duchi, SquareWave], [(1, 1), (2, 1), (0,), 5, "ab", (0, "x"), (0, math.inf)])),
)
def test_bad_bounds_are_refused(kind, bounds) -> None:
    with pytest.raises(ParameterError, match="bound"):
        kind(bounds, 1)


@pytest.mark.parametrize("change", [{"bins": 1}, {"bins": 2.0}, {"bins": 2**17}, {"smooth": 1}, {"bounds": [1]}])
def test_bad_documents_are_refused(change) -> None:
    document = json.loads(SquareWave((0, 1), 1).to_json())
    with pytest.raises(ParameterError):
        from_json(json.dumps({**document, **change}))


def test_cells_that_a_hybrid_never_sends_are_rejected() -> None:
    low, high = Hybrid((0, 1), "0.61"), Hybrid((0, 1), "0.62")
    for scheme, kept in ((low, 2), (high, 3)):
        cells = scheme.layout.pack(np.array([0, 1, 2]))
        server = scheme.server().add(Reports(scheme.fingerprint, cells))
        assert (server.reports, server.rejected) == (kept, 3 - kept)
    assert low.server().add(low.simulate(np.linspace(0, 1, 1000))).rejected == 0
