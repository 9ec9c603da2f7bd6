"""Entries for choices, for keys of groups, and for randomized response."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Literal

from discreet import mechanisms
from discreet.audit.black_box._check import Pair
from discreet.audit.black_box._subject import batched
from discreet.audit.catalog._entry import Entry
from discreet.privacy import Loss, approx, mu, pure, rho
from discreet.sensitivity import Mode

__all__ = ["choices"]

_SLOW = 100_000
_BEHIND = "the claim is a limit, approached as a candidate falls behind and is chosen ever less often"
_BOUNDED = "δ where two candidates attain the whole curve of bounded range; pure ε is a limit of rare outputs"


def choices() -> Iterator[Entry]:
    """Choices from candidates, the threshold stream, keys, and randomized response."""
    yield from _one_choice()
    yield from _several()
    yield from _streams()
    yield from _keys()
    yield from _reports()


def _one_choice() -> Iterator[Entry]:
    entry = partial(Entry, group="Choices", samples=_SLOW)
    lead = (([0, 6], [1, 5]),)
    exponential, one_way = mechanisms.Exponential(1, 1), mechanisms.Exponential(1, 1, monotone=True)
    yield entry(
        "Exponential",
        shown="Exponential(1, 1)",
        mechanism=exponential,
        pairs=lead,
        claim=exponential.loss(),
        delta="0.01",
        kind=mechanisms.Exponential,
        note=_BOUNDED,
    )
    yield entry(
        "Exponential monotone",
        shown="Exponential(1, 1, monotone=True)",
        mechanism=one_way,
        pairs=(([0, 3], [1, 3]),),
        claim=one_way.loss(),
        delta="0.01",
        kind=mechanisms.Exponential,
        note=_BOUNDED,
    )
    flip, flip_one_way = mechanisms.PermuteAndFlip(1, 1), mechanisms.PermuteAndFlip(1, 1, monotone=True)
    yield entry(
        "PermuteAndFlip",
        shown="PermuteAndFlip(1, 1)",
        mechanism=flip,
        pairs=(([0, 0], [1, -1]),),
        claim=flip.loss(),
        kind=mechanisms.PermuteAndFlip,
        note="attained with equal utilities, of which one rises and one falls",
    )
    yield entry(
        "PermuteAndFlip monotone",
        shown="PermuteAndFlip(1, 1, monotone=True)",
        mechanism=flip_one_way,
        pairs=(([0, 0], [1, 0]),),
        claim=flip_one_way.loss(),
        kind=mechanisms.PermuteAndFlip,
        note="attained with equal utilities, of which one rises",
    )
    laws: tuple[tuple[Literal["gumbel", "exponential", "laplace"], tuple[Pair, ...], str | None, str], ...] = (
        ("exponential", (([0, 0], [1, -1]),), None, "the law of PermuteAndFlip"),
        ("gumbel", lead, "0.01", f"the law of Exponential: {_BOUNDED}"),
        ("laplace", (([0, 8], [1, 7]),), None, f"{_BEHIND}; at this ratio 0.93 of it is there to be found"),
    )
    for noise, pairs, delta, note in laws:
        noisy = mechanisms.ReportNoisyMax(1, 1, noise)
        yield entry(
            f"ReportNoisyMax {noise}",
            shown=f'ReportNoisyMax(1, 1, "{noise}")',
            mechanism=noisy,
            pairs=pairs,
            claim=noisy.loss(),
            delta=delta,
            kind=mechanisms.ReportNoisyMax,
            note=note,
        )


def _several() -> Iterator[Entry]:
    entry = partial(Entry, group="Choices", samples=_SLOW)
    top = mechanisms.TopK(2, "1/2", 1)
    vote = mechanisms.MostFrequent.calibrate(pure(1), mode=Mode(("no", "yes")))
    swapped = mechanisms.MostFrequent.calibrate(pure(1), mode=Mode(("no", "yes")), relation="substitute")
    yield entry(
        "TopK",
        shown='TopK(2, "1/2", 1)',
        mechanism=top,
        pairs=(([11, 0, 0, 0], [10, 1, 1, 1]),),
        claim=top.loss(),
        kind=mechanisms.TopK,
        note=f"{_BEHIND}, and two must overtake the leader here",
    )
    yield entry(
        "MostFrequent",
        shown='MostFrequent.calibrate(dp.pure(1), mode=Mode(("no", "yes")))',
        mechanism=vote,
        pairs=((["no"], []),),
        claim=vote.loss(),
        kind=mechanisms.MostFrequent,
        note="attained with equal counts, of which one falls",
    )
    yield entry(
        "MostFrequent substitute",
        shown='MostFrequent.calibrate(dp.pure(1), mode=Mode(("no", "yes")), relation="substitute")',
        mechanism=swapped,
        pairs=((["no", "yes"], ["yes", "yes"]), (["no"], ["yes"])),
        claim=swapped.loss(),
        kind=mechanisms.MostFrequent,
        note="attained with equal counts, of which one rises and one falls",
    )


def _streams() -> Iterator[Entry]:
    entry = partial(Entry, group="Many answers", samples=_SLOW, kind=mechanisms.AboveThreshold)
    up_but_one = (([-1] * 6 + [0], [0] * 6 + [0]),)
    for name, threshold, shown, pairs in (
        ("AboveThreshold", mechanisms.AboveThreshold(0, 1, 1), "", (([-1] * 5 + [0], [0] * 5 + [-1]),)),
        ("AboveThreshold monotone", mechanisms.AboveThreshold(0, 1, 1, monotone=True), ", monotone=True", up_but_one),
        (
            "AboveThreshold optimal",
            mechanisms.AboveThreshold(0, 1, 1, split="optimal"),
            ', split="optimal"',
            (([-1] * 5 + [0], [0] * 5 + [-1]),),
        ),
        (
            "AboveThreshold numeric",
            mechanisms.AboveThreshold(0, 1, 1, numeric=True),
            ", numeric=True",
            (([-2] * 3 + [0], [-1] * 3 + [-1]), ([100], [99])),
        ),
    ):
        yield entry(
            name,
            shown=f"AboveThreshold(0, 1, 1{shown})",
            mechanism=threshold,
            pairs=pairs,
            claim=threshold.loss(),
            note="the claim is a limit: many answers below, then one above, of ever less probability",
        )


def _keys() -> Iterator[Entry]:
    entry = partial(Entry, group="Choices", samples=1_000_000)

    def of_one_key(mechanism: Any) -> Any:
        return batched(lambda units, size: mechanism.release([units] * size))

    selection = mechanisms.PartitionSelection(1, "0.05", 1)
    in_rho = mechanisms.PartitionSelection.calibrate(rho("0.5", "0.05"), keys=1)
    yield entry(
        "PartitionSelection",
        shown='PartitionSelection(1, "0.05", keys=1)',
        mechanism=of_one_key(selection),
        pairs=((3, 2), (1, 0)),
        claim=selection.loss(),
        kind=mechanisms.PartitionSelection,
        note="attained by every number of units: ε and δ on the way up, δ alone at the first unit",
    )
    yield entry(
        "PartitionSelection rho",
        shown='PartitionSelection.calibrate(dp.rho("0.5", "0.05"), keys=1)',
        mechanism=of_one_key(in_rho),
        pairs=((3, 2), (1, 0)),
        claim=in_rho.loss(),
        delta="0.1",
        kind=mechanisms.PartitionSelection,
        note="the selection is pure ε off its δ, of which ρ is no tight account",
    )
    noises: tuple[tuple[str, Loss, Literal["gaussian"] | None, str, str | None, str], ...] = (
        ("laplace", approx(1, "0.001"), None, 'dp.approx(1, "0.001")', None, "a key above the threshold: ε but for δ"),
        ("rho", rho("0.5", "0.001"), None, 'dp.rho("0.5", "0.001")', "0.01", "ρ is told as an ε above the true one"),
        (
            "gaussian",
            mu(1, "0.001"),
            "gaussian",
            'dp.mu(1, "0.001")',
            "0.128",
            "at this δ the best event ends halfway between counts",
        ),
    )
    for name, spend, noise, shown, delta, note in noises:
        counts = mechanisms.ThresholdedCounts.calibrate(spend, noise=noise)
        yield entry(
            f"ThresholdedCounts {name}",
            shown=f"ThresholdedCounts.calibrate({shown})",
            mechanism=of_one_key(counts),
            pairs=((100, 99), (1, 0)),
            claim=counts.loss(),
            delta=delta,
            kind=mechanisms.ThresholdedCounts,
            note=note,
        )


def _reports() -> Iterator[Entry]:
    entry = partial(Entry, group="People who answer for themselves")
    for k in (2, 5):
        report = mechanisms.RandomizedResponse.from_epsilon(1, k)
        yield entry(
            f"RandomizedResponse {k}",
            shown=f"RandomizedResponse.from_epsilon(1, k={k})",
            mechanism=batched(lambda value, size, report=report: report.release([value] * size).tolist()),
            pairs=((0, 1),),
            claim=report.loss(),
            kind=mechanisms.RandomizedResponse,
            samples=1_000_000,
            note="attained by every true report",
        )
    crowd = mechanisms.Shuffled(mechanisms.RandomizedResponse("3/4"), n=3)
    yield entry(
        "Shuffled",
        shown='Shuffled(RandomizedResponse("3/4"), n=3)',
        mechanism=crowd,
        pairs=(([0, 0, 0], [1, 0, 0]), ([0, 0, 1], [1, 0, 1])),
        claim=crowd.loss(),
        delta="0.1",
        kind=mechanisms.Shuffled,
        samples=_SLOW,
        note="the theorem is not tight: the true δ is up to 1.16 times below it",
    )
