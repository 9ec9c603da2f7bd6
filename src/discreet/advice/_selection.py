"""Mechanisms that pick a category, asked about one task: how far the picked count is below the largest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from discreet.advice._frameworks import root_mean_square
from discreet.advice._option import Option
from discreet.advice._task import Task
from discreet.mechanisms import Exponential, MostFrequent, PermuteAndFlip
from discreet.sensitivity import Mode

__all__ = ["exponential_law", "permute_and_flip_law", "with_selection"]

Floats = NDArray[np.float64]


def with_selection(task: Task) -> Iterator[Option]:
    """The exponential mechanism, and permute-and-flip."""
    if not isinstance(task.statistic, Mode):
        return
    monotone = task.relation == "add_remove"
    for kind, law in ((Exponential, exponential_law), (PermuteAndFlip, permute_and_flip_law)):
        vote = MostFrequent.calibrate(task.spend, task.statistic, relation=task.relation, kind=kind)
        rate = float(vote.choice.epsilon) / (1 if monotone else 2)
        gaps = [np.asarray(task.statistic.counts(sample)) for sample in task.samples]
        errors = [float(np.sqrt(law(counts, rate) @ (counts.max() - counts) ** 2)) for counts in gaps]
        why = "counts of categories: how many fewer people the picked one has"
        yield Option(vote, root_mean_square(errors), "computed", why)


def exponential_law(counts: Floats, rate: float) -> Floats:
    """The probability of each candidate, proportional to exp(rate · count)."""
    weights = np.exp(rate * (counts - counts.max()))
    return weights / weights.sum()


def permute_and_flip_law(counts: Floats, rate: float) -> Floats:
    """The probability of each candidate: p ∫₀¹ Π (1 − p′ t) dt over the others, p = exp(rate · (count − largest)).

    The product falls about like exp(−Σp′ t): places are even in ln(1 + Σp′ t). Source: McKenna and Sheldon 2020,
    Proposition 6.
    """
    accepted = np.exp(rate * (counts - counts.max()))
    places, weights = np.polynomial.legendre.leggauss(64)
    total = accepted.sum()
    reach = np.log1p(total)
    t = np.expm1(reach * (places + 1) / 2) / total
    logs = np.log1p(-np.outer(t, accepted))
    others = np.exp(logs.sum(axis=1, keepdims=True) - logs)
    return accepted * ((reach * (t + 1 / total) * weights / 2) @ others)
