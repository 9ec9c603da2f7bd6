"""Mistakes in groups that overlap, each of which a replay sees: see ``tests/synth/replay.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import noise
from discreet.census.details import _layout as layout
from discreet.census.details import _question as question
from discreet.sensitivity import Norms
from mutants._mutant import Patches, patched

__all__ = ["MUTANTS", "DetailMutant"]


@dataclass(frozen=True, slots=True)
class DetailMutant:
    """The real code with one mistake in it. `relation` is that of the policy that shows it."""

    name: str
    why: str
    patches: Patches
    relation: str = "add_remove"


_prepared = question.PreparedDetail
_norms, _related, _with_noise = layout.group_norms, layout.related_rows, question.with_noise
_cells, _totals, _noisy, _statement = (
    _prepared.counted_cells,
    _prepared.counted_totals,
    _prepared._noisy,
    _prepared._statement,
)


def _norms_of(norms: Any) -> Patches:
    """Where noise is planned."""
    return patched((question, "group_norms", norms))


def _chosen_by_true_counts(self: Any, chosen: Any, totals: Any, context: Any, salt: bytes) -> Any:
    del chosen
    return _cells(self, {level: self.layout.chosen(each) for level, each in totals.items()}, totals, context, salt)


def _refined_by_true_counts(self: Any, exact: Any, mechanism: Any, purse: Any) -> Any:
    """Groups whose true total is below a threshold never show as above it."""
    noisy = _noisy(self, exact, mechanism, purse)
    first = self.layout.spec.thresholds[0]
    return np.where((exact < first) & (noisy >= first), first - 1, noisy) if exact.ndim > 1 else noisy


def _noise_again(self: Any, context: Any) -> Any:
    """The noise of the first stage is in the total of the second again, where a group is shown by its total."""
    drawn: list[Any] = []

    def noisy(this: Any, exact: Any, mechanism: Any, purse: Any) -> Any:
        out = _noisy(this, exact, mechanism, purse)
        if exact.ndim > 1:
            drawn.append(out - exact)
            return out
        again = np.resize(drawn.pop(0).ravel(), exact.shape)
        return exact + again

    with patched((_prepared, "_noisy", noisy))():
        return _answer(self, context)


_answer = _prepared.answer


def _empty_left_out(exact: Any, mechanism: Any) -> Any:
    return np.where(np.asarray(exact) == 0, 0, _with_noise(exact, mechanism)).astype(np.int64)


def _other_people(self: Any, chosen: Any, totals: Any, context: Any, salt: bytes) -> Any:
    del salt
    return _cells(self, chosen, totals, context, noise.secret(16))


def _true_passes(self: Any, chosen: Any, totals: Any, context: Any, salt: bytes) -> Any:
    """Only groups that have anybody are counted again."""
    some = {level: np.where(totals[level] > 0, ways, 0) for level, ways in chosen.items()}
    _cells(self, some, totals, context, salt)
    return _cells(self, chosen, totals, context, salt)


def _every_row(*args: Any, once: int, **named: Any) -> Any:
    del once
    return _related(*args, **named)


MUTANTS = (
    DetailMutant(
        "overlap forgotten",
        "A person is in several groups, and the noise is for one.",
        _norms_of(lambda groups, rows, relation: _norms(1, rows, relation)),
    ),
    DetailMutant(
        "L2 of one group",
        "The L1 norm counts all groups of a person, and the L2 norm the one in which most rows are.",
        _norms_of(lambda groups, rows, relation: replace_l2(_norms(groups, rows, relation))),
    ),
    DetailMutant(
        "substitution charged as add/remove",
        "A person who is replaced leaves groups and enters others.",
        _norms_of(lambda groups, rows, relation: _norms(groups, rows, "add_remove")),
        "substitute",
    ),
    DetailMutant(
        "a group counted for every row",
        "A person with the same group in two rows counts twice in it.",
        patched((layout, "related_rows", _every_row)),
    ),
    DetailMutant(
        "no cap on groups",
        "A person counts in all groups of the rows that the policy allows.",
        patched((layout, "related_rows", lambda *args, most, **named: _related(*args, most=4, **named))),
    ),
    DetailMutant(
        "detail chosen by true counts",
        "How finely a group is shown follows from how many people it has.",
        patched((_prepared, "counted_cells", _chosen_by_true_counts)),
    ),
    DetailMutant(
        "detail withheld by true counts",
        "A group that is too small in truth is never shown finely.",
        patched((_prepared, "_noisy", _refined_by_true_counts)),
    ),
    DetailMutant(
        "noise of the first stage again in the second",
        "One noise hides two numbers, and their difference shows what it hid.",
        patched((_prepared, "answer", _noise_again)),
    ),
    DetailMutant(
        "empty groups without noise",
        "Noise is left out where there is nobody to hide.",
        patched((question, "with_noise", _empty_left_out)),
    ),
    DetailMutant(
        "other people in the second stage",
        "Another salt draws other groups of the people who are in too many.",
        patched((_prepared, "counted_cells", _other_people)),
    ),
    DetailMutant(
        "passes by true counts",
        "Only groups with people are counted again.",
        patched((_prepared, "counted_cells", _true_passes)),
    ),
    DetailMutant(
        "second stage not certified",
        "The certificate lists the totals alone.",
        patched((
            _prepared,
            "_statement",
            lambda self: {**_statement(self), "measured": _statement(self)["measured"][::2]},
        )),
    ),
)  # fmt: skip


def replace_l2(norms: Norms) -> Norms:
    """Norms with the L2 norm of one cell."""
    return Norms(norms.l1, norms.linf**2, norms.linf)
