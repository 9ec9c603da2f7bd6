"""The two tiers: a network measured at once, and rounds of choosing and measuring that go on from there.

A score is a weighted L1 distance of a marginal from the model, less what its noise would add: whole numbers, of which
one row moves each by its weight at most. Source: McKenna, Mullins, Sheldon and Miklau 2022 (AIM), Algorithm 2; the
network is a maximum spanning tree by noisy scores, McKenna, Miklau and Sheldon 2021 (MST). Proof: ``proofs/synth.md``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.marginals import Clique, Model, PublicStream, cells, neighbours_of, sample_cells, triangulated
from discreet.synth._candidates import Candidates
from discreet.synth._scores import distance, score, score_sensitivity
from discreet.synth._state import Counts, Fit
from discreet.synth._ties import Ties

__all__ = ["Shares", "best", "instant", "most_rounds", "one_way_share", "sampled_counts"]

_ABSOLUTE = 0.8
"""The mean absolute value of noise by its standard deviation: √(2/π) for Gaussian noise, √½ for Laplace noise."""
_BYTES = 2**21
_ROUNDS, _FEWEST_ROUNDS = 4, 8
_FIRST_NOISE = 0.006
"""The noise that the first rounds may have, in parts of all rows."""
_LEAST = Fraction(1, 2**20)
_ROUND_STEPS = 25
_SCORED_ROWS = 32_768


@dataclass(frozen=True, slots=True)
class Shares:
    """How the spend is shared: one-way marginals, pairs with the target, the network; rounds have the rest."""

    one_way: Fraction = Fraction(1, 4)
    target: Fraction = Fraction(1, 5)
    least_network: Fraction = Fraction(1, 5)
    most_network: Fraction = Fraction(1, 2)

    def least_until_network(self, *, has_target: bool) -> Fraction:
        """The least share that is spent when the network is measured."""
        return self.one_way + self.least_network + (self.target if has_target else 0)

    def until_network(self, fit: Fit, *, has_target: bool) -> Fraction:
        """The share that is spent when the network is measured: the less the spend buys, the more of it.

        What it buys is judged by the noise of so many marginals as there are columns, twice over, in parts of all rows.
        """
        noise = fit.prices.measurement(fit.prices.total / (2 * len(fit.sizes))).std / fit.total
        more = Fraction(0.15 * math.log(max(noise, 1e-9) / 0.0003, 3)).limit_denominator(1000)
        network = min(max(self.least_network + more, self.least_network), self.most_network)
        return self.one_way + network + (self.target if has_target else 0)


def one_way_share(tier: str) -> Fraction:
    """The share of the spend for the marginals of single columns."""
    return Fraction(1, 5) if tier == "instant" else Shares().one_way


def most_rounds(columns: int, share: Fraction) -> int:
    """How many rounds there are at most, for this share of the spend: where the table is large or the spend is."""
    return max(int(_ROUNDS * columns * share), 1)


def instant(
    fit: Fit, counts: Mapping[Clique, Counts], target: int | None, until: Fraction, first: Sequence[Clique] = ()
) -> None:
    """Measure a network: each column with the target, if there is one, and a spanning tree of the others.

    The pairs `first` are edges of it, each with twice the share of another. The others are chosen one by one, by how
    far their counts are from independent ones. All is spent up to `until`, a part of the total. Pairs that would
    make the tree too large, beside those that rules tie together, are left out.
    """
    columns, ties = len(fit.sizes), Ties(fit.sizes, fit.ruled)
    others = [column for column in range(columns) if column != target]
    total = fit.prices.total * until
    if target is not None:
        pairs = [(min(each, target), max(each, target)) for each in others]
        pairs = ties.tied(pair for pair in pairs if pair in counts)
        share = (total - fit.purse.spent) * (Fraction(1, 3) if len(others) > 1 else 1)
        for pair in pairs:
            fit.measure(pair, counts[pair], fit.prices.measurement(share / len(pairs)))
    first = ties.tied(pair for pair in first if pair in counts and target not in pair)
    share = (total - fit.purse.spent) / (len(others) - 1 + len(first)) if first else Fraction(0)
    for pair in first:
        fit.measure(pair, counts[pair], fit.prices.measurement(2 * share))
    edges = [pair for pair in itertools.combinations(others, 2) if pair in counts]
    tree = _spanning_tree(fit, counts, edges, others, (total - fit.purse.spent) / 12, first, ties)
    for i, pair in enumerate(tree):
        fit.measure(pair, counts[pair], fit.prices.measurement((total - fit.purse.spent) / (len(tree) - i)))


def _spanning_tree(  # noqa: PLR0913, PLR0917
    fit: Fit,
    counts: Mapping[Clique, Counts],
    edges: Sequence[Clique],
    columns: Sequence[int],
    spend: Fraction,
    joined: Sequence[Clique],
    ties: Ties,
) -> list[Clique]:
    """The edges that complete a forest of pairs that are `joined` already, as far as the tree has room for them."""
    shares = {column: _nonnegative(fit.measurements[column,].counts) for column in columns}
    scores = {
        pair: distance(counts[pair], fit.total * np.multiply.outer(*(shares[column] for column in pair)).ravel())
        for pair in edges
    }
    root = {column: column for column in columns}
    for one, other in joined:
        root = {column: root[one] if its == root[other] else its for column, its in root.items()}
    chosen: list[Clique] = []
    picks = len(set(root.values())) - 1
    while True:
        free = [pair for pair in edges if root[pair[0]] != root[pair[1]] and ties.leave(pair)]
        if not free:
            return chosen
        pair = free[0]
        if len(free) > 1:
            pair = fit.choose(
                free,
                [scores[each] for each in free],
                fit.prices.choice(spend / picks, score_sensitivity(1, fit.prices.norms)),
            )
        chosen.append(pair)
        ties.tie(pair)
        root = {column: root[pair[1]] if its == root[pair[0]] else its for column, its in root.items()}


def best(fit: Fit, counts: Mapping[Clique, Counts], listed: Candidates, report: Callable[[Fraction], None]) -> None:
    """Rounds of choosing a marginal and measuring it, with less noise each time one taught little, until all is spent.

    `report` is told the share that is spent. Source: AIM's annealing, with a share of a tenth for choosing.
    """
    prices, purse = fit.prices, fit.purse
    rounds = _rounds(fit)
    measuring, choosing = prices.total * Fraction(9, 10) / rounds, prices.total / (10 * rounds)
    model = fit.estimate(newton=15, steps=10)
    while purse.left > prices.total * _LEAST:
        if purse.left < 2 * (measuring + choosing):
            measuring, choosing = purse.left * Fraction(9, 10), purse.left / 10
        noise = prices.measurement(measuring)
        choice = prices.choice(choosing, score_sensitivity(listed.largest_weight, prices.norms))
        if prices.cost(noise.loss(prices.norms)) + prices.cost(choice.loss()) > purse.left:
            return
        before = sampled_counts(model, len(fit.steps))
        allowed = _fitting(fit, listed, float(purse.spent / prices.total))
        if not allowed:
            return
        penalty = _ABSOLUTE * noise.std
        scores = [
            score(counts[each], before(each), listed.weights[each], round(penalty * counts[each].size))
            for each in allowed
        ]
        chosen = fit.choose(allowed, scores, choice)
        expected = before(chosen)
        fit.measure(chosen, counts[chosen], noise)
        model = fit.estimate(newton=3, steps=_ROUND_STEPS)
        moved = float(np.abs(fit.total * model.marginal(chosen) - expected).sum())
        if moved <= penalty * counts[chosen].size:
            scale = 4 if prices.is_quadratic else 2
            measuring, choosing = measuring * scale, choosing * scale
        report(purse.spent / prices.total)


def _rounds(fit: Fit) -> int:
    """How many rounds the first noise is for: as many as leave it a part of the rows, a few for each column at most."""
    prices, noise = fit.prices, fit.total * _FIRST_NOISE
    if prices.is_quadratic:
        enough = float(prices.total) * noise**2 / float(prices.norms.l2_squared)
    else:
        enough = float(prices.total) * noise / prices.norms.l1
    return round(min(max(enough, _FEWEST_ROUNDS), _ROUNDS * len(fit.sizes)))


def _fitting(fit: Fit, listed: Candidates, spent: float) -> list[Clique]:
    """The candidates with which the tree stays small: of few cells at first, and more as more is spent."""
    sizes, most = fit.sizes, _BYTES / 8 * spent
    graph = neighbours_of(len(sizes), [*fit.measurements, *fit.ruled])
    allowed: list[Clique] = []
    for each in listed.weights:
        wider = neighbours_of(len(sizes), [each], graph)
        if wider == graph or sum(cells(sizes, clique) for clique in triangulated(sizes, wider)) <= most:
            allowed.append(each)
    return allowed


def sampled_counts(model: Model, turn: int, rows: int = _SCORED_ROWS) -> Callable[[Clique], np.ndarray]:
    """The expected counts of any marginal, from rows that are sampled from the model."""
    drawn, _ = sample_cells(model, rows, PublicStream(f"scores {turn}".encode()))
    sizes = model.tree.sizes

    def counted(clique: Clique) -> np.ndarray:
        place = drawn[clique[0]]
        for column in clique[1:]:
            place = place * sizes[column] + drawn[column]
        return np.bincount(place, minlength=cells(sizes, clique)) * (model.total / rows)

    return counted


def _nonnegative(counts: np.ndarray) -> np.ndarray:
    positive = np.maximum(counts, 0)
    held = positive.sum()
    return positive / held if held > 0 else np.full(len(counts), 1 / len(counts))
