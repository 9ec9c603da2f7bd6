"""Differencing: two answers about groups that differ in one person tell of that person. Source: Denning 1980."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.attack._outcome import Control, Outcome
from discreet.errors import ParameterError

__all__ = ["averaging", "differencing", "tracker"]

Ask = Callable[[NDArray[np.bool_]], float]
"""How many of a subset have the secret, as well as a release answers that."""


def differencing(ask: Ask, secret: NDArray[np.bool_], targets: Sequence[int], *, after: Ask | None = None) -> Outcome:
    """Ask about everybody, and about everybody but the target: the difference is the target's bit.

    Parameters
    ----------
    ask
        Answers about a subset.
    secret
        The truth, to which guesses are compared.
    targets
        The places of those whose bits are guessed.
    after
        Answers after the target has left, where ask answered before: differencing in time. Left out, both questions
        are asked of `ask`: differencing in granularity.

    Raises
    ------
    ParameterError
        For targets that are not there, secrets that are no truth values, and answers that are not finite.

    >>> secret = np.array([True, False, True])
    >>> differencing(lambda subset: float((subset & secret).sum()), secret, targets=[0, 1]).success
    1.0
    """
    everybody = np.ones(len(secret), bool)
    later = ask if after is None else after
    return _guessed("differencing", secret, targets, lambda place: ask(everybody) - later(_without(everybody, place)))


def averaging(ask: Ask, secret: NDArray[np.bool_], targets: Sequence[int], *, repeats: int = 100) -> Outcome:
    """Ask the same question again and again, and take the mean: noise that is drawn anew each time goes away.

    Parameters and errors are those of `differencing`, and `repeats`, how often each question is asked.
    """
    if repeats < 1:
        raise ParameterError(f"repeats is a number of times, 1 or more, not {repeats!r}")
    everybody = np.ones(len(secret), bool)

    def difference(place: int) -> float:
        others = _without(everybody, place)
        return float(np.mean([ask(everybody) - ask(others) for _ in range(repeats)]))

    return _guessed("averaging", secret, targets, difference)


def tracker(ask: Ask, secret: NDArray[np.bool_], targets: Sequence[int], *, padding: NDArray[np.bool_]) -> Outcome:
    """Ask about groups that are padded with others, where groups that are too small or too large are not answered.

    The count of a person alone is that of the person or the padding, and of the person or all others but the padding,
    less the counts of both. Parameters and errors are those of `differencing`, and `padding`: about half of the people.
    Source: Denning, Denning and Schwartz 1979.
    """
    if padding.shape != secret.shape or padding.dtype != bool or padding.all() or not padding.any():
        raise ParameterError("padding is a truth value for each person, true of some of them")

    def difference(place: int) -> float:
        alone = np.zeros(len(secret), bool)
        alone[place] = True
        return ask(alone | padding) + ask(alone | ~padding) - ask(padding) - ask(~padding)

    return _guessed("tracker", secret, targets, difference)


def _without(everybody: NDArray[np.bool_], place: int) -> NDArray[np.bool_]:
    others = everybody.copy()
    others[place] = False
    return others


def _guessed(
    attack: str, secret: NDArray[np.bool_], targets: Sequence[int], difference: Callable[[int], float]
) -> Outcome:
    places = np.asarray(targets)
    if not len(places) or places.dtype.kind not in "iu" or not ((places >= 0) & (places < len(secret))).all():
        raise ParameterError(f"targets are places of people from 0 to {len(secret) - 1:,}")
    if secret.dtype != bool:
        raise ParameterError(f"secret is a truth value for each person, not of type {secret.dtype}")
    differences = np.array([difference(int(each)) for each in places])
    if not np.isfinite(differences).all():
        raise ParameterError("an answer is not a finite number: leave that target out")
    share = float(secret[places].mean())
    guess = differences > _threshold(differences, share)
    right = guess == secret[places]
    evidence = pa.table(
        [pa.array(places), pa.array(differences), pa.array(guess), pa.array(right)],
        ["person", "difference", "guess", "right"],
    )
    return Outcome(attack, int(right.sum()), len(places), Control(max(share, 1 - share)), evidence)


def _threshold(differences: NDArray[np.float64], share: float) -> float:
    """From which difference a bit is likelier than not, where so many have it: the control knows that as well.

    What differences vary more than bits do is taken for Gaussian noise. Where there is none it is a half.
    """
    if not 0 < share < 1:
        return 0.5
    noise = max(float(differences.var()) - share * (1 - share), 0.0)
    return 0.5 + noise * float(np.log((1 - share) / share))
