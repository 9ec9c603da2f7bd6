"""The most frequent category, picked by its count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.errors import ParameterError
from discreet.mechanisms.selection._exponential import Exponential
from discreet.mechanisms.selection._permute_and_flip import PermuteAndFlip
from discreet.privacy import Loss, Relation
from discreet.reprs import call_repr
from discreet.sensitivity import Mode, adds_or_removes

__all__ = ["MostFrequent"]


@dataclass(frozen=True, slots=True)
class MostFrequent:
    """A frequent category of data, picked by a selection mechanism from the counts of a public domain.

    Parameters
    ----------
    mode
        The domain, as `discreet.sensitivity.Mode`.
    choice
        How to pick; made by `calibrate` with the sensitivity that the relation asks for.
    relation
        What neighbours are. Under add/remove all counts move in one direction, by at most 1, so that the choice is
        monotone; under substitution one goes up and another goes down.

    Raises `ParameterError` for another relation, and for a choice that is monotone or made for less than 1 where counts
    are not. Source: ``proofs/permute_and_flip.md`` and ``proofs/exponential.md``.

    >>> from discreet.privacy import pure
    >>> vote = MostFrequent.calibrate(pure(2), mode=Mode(("no", "yes")))
    >>> vote.loss(), vote.release(["yes"] * 99)
    (pure(2), 'yes')
    """

    mode: Mode
    choice: Exponential | PermuteAndFlip
    relation: Relation

    __repr__ = call_repr

    def __post_init__(self) -> None:
        one_way = adds_or_removes(self.relation)
        if self.choice.sensitivity < 1 or (self.choice.monotone and not one_way):
            raise ParameterError(
                "the choice must be made for a sensitivity of 1 or more, and be monotone under add/remove only; "
                "MostFrequent.calibrate makes it so"
            )

    @classmethod
    def calibrate(
        cls,
        spend: Loss,
        *,
        mode: Mode,
        relation: Relation = "add_remove",
        kind: type[Exponential] | type[PermuteAndFlip] = PermuteAndFlip,
    ) -> MostFrequent:
        """The mechanism with the largest ε that the spend allows. Costs no privacy.

        Raises `ParameterError` for a spend of nothing, and for another relation.
        """
        return cls(mode, kind.calibrate(spend, 1, monotone=adds_or_removes(relation)), relation)

    def loss(self) -> Loss:
        """The loss of the choice: pure ε; of bounded range for the exponential mechanism."""
        return self.choice.loss()

    def release(self, x: Any) -> Any:
        """A category of the domain. Costs `loss()`, **and charges nobody**: this is the raw toolbox.

        Raises `ParameterError` only if x is not a sequence.
        """
        return self.mode.domain[self.choice.release(self.mode.counts(x))]
