"""Canaries: made-up records that go into a training run, or stay out, by a secret fair coin each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.audit.one_run_audit._one_run import one_run
from discreet.audit.one_run_audit._verdict import OneRunVerdict
from discreet.errors import ParameterError
from discreet.noise import bernoulli
from discreet.privacy import Loss, Relation
from discreet.rational import Number

__all__ = ["Canaries", "audit_training"]

Model = TypeVar("Model")


@dataclass(frozen=True, slots=True, eq=False)
class Canaries:
    """Records that are added to the training data for the sake of an audit, each of its own person.

    records
        What may go in: anything that the training function takes. They are most telling where they stand out and do
        not hide one another: gradients of the greatest allowed length in directions of their own.
    instead
        For a claim under substitution only: what goes in where the record does not, one for each record. Left out, the
        record goes in or nothing does, which is what a claim for adding and removing a record is about.

    Costs no privacy: they are made up. Raises `ParameterError` if there are none, or not as many stand-ins.
    Source: Steinke, Nasr and Jagielski 2023, Algorithm 1 (all examples there are canaries, or m of them).

    >>> canaries = Canaries(["a", "b", "c"])
    >>> len(canaries), canaries.chosen([True, False, True])
    (3, ['a', 'c'])
    >>> Canaries([1, 2], instead=[0, 0]).chosen([False, True])
    [0, 2]
    """

    records: Sequence[Any] = field(repr=False)
    instead: Sequence[Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", _listed(self.records, "records"))
        if not self.records:
            raise ParameterError("an audit needs at least one canary; give a thousand or more for a useful bound")
        if self.instead is not None:
            object.__setattr__(self, "instead", _listed(self.instead, "instead"))
            if len(self.instead) != len(self.records):
                raise ParameterError(
                    f"instead must have one stand-in for each of the {len(self.records):,} records, "
                    f"got {len(self.instead):,}"
                )

    def __len__(self) -> int:
        return len(self.records)

    @property
    def relation(self) -> Relation:
        """The neighbours that these canaries make: what a claim about them must be valid for."""
        return "add_remove" if self.instead is None else "substitute"

    def flip(self) -> NDArray[np.bool_]:
        """A fair coin for each canary, all independent: true if it goes in. Keep them from whatever makes the scores.

        >>> Canaries(range(100)).flip().shape
        (100,)
        """
        return bernoulli(0.5, len(self))

    def chosen(self, included: ArrayLike) -> list[Any]:
        """What goes into training, in the order of the canaries. `ParameterError` unless there is a coin for each."""
        coins = np.asarray(included)
        if coins.dtype != np.bool_ or coins.shape != (len(self),):
            raise ParameterError(f"included must be true or false for each of the {len(self):,} canaries")
        if self.instead is None:
            return [record for record, inside in zip(self.records, coins.tolist(), strict=True) if inside]
        pairs = zip(self.records, self.instead, coins.tolist(), strict=True)
        return [record if inside else stand_in for record, stand_in, inside in pairs]


def audit_training(  # noqa: PLR0913 (all but four by keyword)
    train: Callable[[list[Any]], Model],
    canaries: Canaries,
    score: Callable[[Model, Any], float],
    claim: Loss,
    *,
    delta: Number | None = None,
    confidence: Number = 0.95,
    guesses: int | tuple[int, int] | list[int | tuple[int, int]] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> OneRunVerdict:
    """Train once, with the canaries that their coins chose, and hold that run to its claim. See `one_run`.

    Parameters
    ----------
    train
        Takes the list of chosen canaries and returns what an adversary sees: the model, or all its iterates. It adds
        them to whatever else it trains on, which is fixed; it runs once, and must not tell the canaries by anything
        but their own content.
    canaries
        What may go in. The coins are drawn here, after the canaries are fixed.
    score
        Takes what `train` returned and one canary's record, chosen or not, and returns how much it seems to have gone
        in. Called once for each canary.
    claim, delta, confidence, guesses
        As for `one_run`. The claim is that of the whole run, for one canary: added or removed, or replaced if they have
        stand-ins.
    progress
        Called with the steps done and their number: the run is one, and so is each score.

    Costs no privacy if all that is trained on is made up. Raises `ParameterError` as `one_run` does, for a claim that
    is valid for other neighbours than the canaries make, and for a score that is no number; what `train` and `score`
    raise comes through.
    Source: Steinke, Nasr and Jagielski 2023, Algorithm 1.

    >>> from discreet.privacy import pure
    >>> verdict = audit_training(
    ...     train=lambda chosen: set(chosen),
    ...     canaries=Canaries(range(1000)),
    ...     score=lambda model, canary: canary in model,
    ...     claim=pure(1),
    ... )
    >>> verdict.violated
    True
    """
    relation = getattr(claim, "relation", None)
    if relation not in (None, canaries.relation):
        raise ParameterError(
            f"the claim is for neighbours by {relation}, and these canaries make neighbours by {canaries.relation}; "
            "give Canaries stand-ins (instead=...) for substitution, and none for add/remove"
        )
    included = canaries.flip()
    # A wrong claim, or a wrong rule of guessing, is refused before the training rather than after it.
    one_run(np.zeros(len(canaries)), included, claim, delta=delta, confidence=confidence, guesses=guesses)
    steps = len(canaries) + 1
    model = train(canaries.chosen(included))
    scores: list[float] = []
    for done, record in enumerate(canaries.records, start=1):
        if progress is not None:
            progress(done, steps)
        scores.append(_number(score(model, record)))
    if progress is not None:
        progress(steps, steps)
    return one_run(scores, included, claim, delta=delta, confidence=confidence, guesses=guesses)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ParameterError(f"score must return a number, got {type(value).__name__}") from None


def _listed(values: Any, name: str) -> tuple[Any, ...]:
    try:
        return tuple(values)
    except TypeError:
        raise ParameterError(f"{name} must be a sequence of canaries, got {type(values).__name__}") from None
