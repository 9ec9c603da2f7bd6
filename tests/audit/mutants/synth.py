"""Mistakes in fits of synthetic tables, each of which a replay sees: see ``tests/synth/replay.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np

from discreet import noise, prices
from discreet.marginals import Merge
from discreet.privacy import BoundedRangeLoss
from discreet.release import ReleaseContext
from discreet.sensitivity import Norms
from discreet.synth import _question as question
from discreet.synth import _rounds as rounds
from discreet.synth import _state as state
from discreet.synth.checks import _question as checks
from mutants._mutant import Patches, patched

__all__ = ["MUTANTS", "SynthMutant"]


@dataclass(frozen=True, slots=True)
class SynthMutant:
    """The real code with one mistake in it.

    `asks` is where the mistake is: in a fit, or in a check of a table. `relation` is that of the policy that shows it.
    """

    name: str
    why: str
    patches: Patches
    asks: str = "fit"
    relation: str = "add_remove"


_answer, _release = question.PreparedTable.answer, question._release
_one_way, _counted = question.PreparedTable._one_way_fit, question.PreparedTable._counted
_measure, _choose, _pay = state.Fit.measure, state.Fit.choose, prices.Purse.pay
_merge, _best, _marginals, _bounded = question.merge, question.best, question.Marginals, question.measure_norms
_distances = checks.distance_norms


def _spied(change: Callable[[list[Any]], Patches]) -> Patches:
    """Patches that know what the engine counted so far: the arrays of all passes, in a list."""

    @contextmanager
    def broken() -> Iterator[None]:
        seen: list[Any] = []

        def answer(self: Any, context: ReleaseContext) -> Any:
            seen.clear()

            def spy(request: Any, salt: bytes) -> Any:
                counts = context.count_marginals(request, salt)
                seen.extend(counts)
                return counts

            return _answer(self, replace(context, count_marginals=spy))

        with patch.object(question.PreparedTable, "answer", answer), change(seen)():
            yield

    return broken


def _domain_from_data(seen: list[Any]) -> Patches:
    def one_way(self: Any, context: Any, salt: bytes) -> Any:
        fit, merges = _one_way(self, context, salt)
        return fit, [
            Merge(each.into, tuple(np.where(counts.ravel() > 0, each.shares, 0.0).tolist()))
            for each, counts in zip(merges, seen, strict=False)
        ]

    return patched((question.PreparedTable, "_one_way_fit", one_way))


def _merged_by_true_counts(seen: list[Any]) -> Patches:
    def merge(column: Any, counts: Any, spread: float, total: float, apart: Any = None) -> Any:
        true = next(each for each in seen if each.size == column.size)
        return _merge(column, true.ravel().astype(float), spread, total)

    return patched((question, "merge", merge))


def _true_total(seen: list[Any]) -> Patches:
    def one_way(self: Any, context: Any, salt: bytes) -> Any:
        fit, merges = _one_way(self, context, salt)
        fit.total = max(float(seen[0].sum()), 1.0)
        return fit, merges

    return patched((question.PreparedTable, "_one_way_fit", one_way))


def _true_n_shown(seen: list[Any]) -> Patches:
    def release(*parts: Any) -> Any:
        *others, certify = parts
        return _release(*others, lambda statement: certify({**statement, "rows": int(seen[0].sum())}))

    return patched((question, "_release", release))


def _stopped_by_true_counts(seen: list[Any]) -> Patches:
    def best(fit: Any, counts: Any, listed: Any, report: Any) -> None:
        if seen[0].sum() >= 40:
            _best(fit, counts, listed, report)

    return patched((question, "best", best))


def _zero_cells_skipped(self: Any, clique: Any, counts: Any, mechanism: Any) -> None:
    """Noise for cells with rows alone; the others stay 0."""
    flat = counts.ravel()
    held = np.flatnonzero(flat)
    self.purse.pay(mechanism.loss(self.prices.norms))
    values = np.zeros(flat.size)
    values[held] = [int(each) for each in mechanism.release(flat[held].tolist())] if held.size else []
    _keep(self, clique, values, mechanism)


def _empty_cells_cleaned(self: Any, clique: Any, counts: Any, mechanism: Any) -> None:
    """All cells get noise, and those without rows are set to 0 after."""
    self.purse.pay(mechanism.loss(self.prices.norms))
    flat = counts.ravel()
    values = np.array([int(each) for each in mechanism.release(flat.tolist())], dtype=float)
    _keep(self, clique, np.where(flat > 0, values, 0.0), mechanism)


def _noise_reused(self: Any, clique: Any, counts: Any, mechanism: Any) -> None:
    """The noise of the first marginal is added to later ones as well, in turn."""
    flat = counts.ravel()
    self.purse.pay(mechanism.loss(self.prices.norms))
    if not self.steps:
        drawn = np.array([int(each) for each in mechanism.release(flat.tolist())], dtype=float)
        _REUSED[:] = [drawn - flat]
    _keep(self, clique, flat + np.resize(_REUSED[0], flat.size), mechanism)


_REUSED: list[Any] = []


def _drawn_again(self: Any, clique: Any, counts: Any, mechanism: Any) -> None:
    """A marginal whose first cell comes out low is drawn anew, unpaid."""
    _measure(self, clique, counts, mechanism)
    if self.measurements[clique].counts[0] < 4:
        self.measurements.pop(clique)
        self.steps.pop()
        spent = self.purse.spent
        self.purse.spent = type(spent)(0)
        _measure(self, clique, counts, mechanism)
        self.purse.spent = spent


def _keep(fit: Any, clique: Any, values: Any, mechanism: Any) -> None:
    one = state.Measurement(clique, values, np.full(values.size, max(mechanism.std, 1e-3) ** 2))
    earlier = fit.measurements.get(clique)
    fit.measurements[clique] = one if earlier is None else earlier.with_counts(one.counts, one.variances)
    fit.steps.append(state.Step(clique, mechanism, None, tuple(int(each) for each in values)))


def _true_argmax(self: Any, listed: Any, scores: Any, choice: Any) -> Any:
    self.purse.pay(choice.loss())
    clique = listed[int(np.argmax(scores))]
    self.steps.append(state.Step(clique, choice, len(listed)))
    return clique


def _choices_for_nothing(self: Any, loss: Any) -> None:
    if not isinstance(loss, BoundedRangeLoss) and loss not in _FREE:
        _pay(self, loss)


_FREE: set[Any] = set()


def _of_choice(self: Any, listed: Any, scores: Any, choice: Any) -> Any:
    _FREE.add(choice.loss())
    return _choose(self, listed, scores, choice)


def _new_salt(self: Any, context: Any, salt: bytes, sets: Any, merges: Any) -> Any:
    return _counted(self, context, noise.secret(16), sets, merges)


def _half(weight: int, norms: Norms) -> int:
    return max(weight * norms.l1 // 2, 1)


def _float_score(counts: Any, expected: Any, weight: int, penalty: int) -> float:
    return weight * (float(np.abs(counts.ravel() - expected).sum()) - penalty)


def _uncapped(bounded: Any, *rest: Any) -> Any:
    return _marginals(replace(bounded, max_rows=10**6), *rest)


MUTANTS = (
    SynthMutant(
        "synth: domain from the data",
        "Values that no private row has are never made, as peers do that list a column's values first.",
        _spied(_domain_from_data),
    ),
    SynthMutant(
        "synth: merged by true counts",
        "Cells are merged where they hold few rows, by the counts and not by the noisy ones.",
        _spied(_merged_by_true_counts),
    ),
    SynthMutant("synth: total from true counts", "The table has as many rows as the private one.", _spied(_true_total)),
    SynthMutant("synth: private n shown", "The certificate states the number of rows.", _spied(_true_n_shown)),
    SynthMutant(
        "synth: stopped by true counts",
        "Small tables get no rounds, by how many rows there are.",
        _spied(_stopped_by_true_counts),
    ),
    SynthMutant(
        "synth: zero cells skipped",
        "Only cells that have rows get noise: which are measured tells who is there.",
        patched((state.Fit, "measure", _zero_cells_skipped)),
    ),
    SynthMutant(
        "synth: empty cells set to zero",
        "What noise put where there are no rows is cleaned away.",
        patched((state.Fit, "measure", _empty_cells_cleaned)),
    ),
    SynthMutant(
        "synth: noise reused",
        "One draw of noise serves all marginals, so that differences between them are exact.",
        patched((state.Fit, "measure", _noise_reused)),
    ),
    SynthMutant(
        "synth: low counts drawn again",
        "A marginal that came out low is measured once more, and paid once.",
        patched((state.Fit, "measure", _drawn_again)),
    ),
    SynthMutant(
        "synth: chosen by the true argmax",
        "The marginal that is most wrong is chosen, without chance.",
        patched((state.Fit, "choose", _true_argmax)),
    ),
    SynthMutant(
        "synth: choices are free",
        "Measurements are paid for, and choices are not.",
        patched((prices.Purse, "pay", _choices_for_nothing), (state.Fit, "choose", _of_choice)),
    ),
    SynthMutant(
        "synth: score sensitivity halved",
        "A person moves a score by the weight times half of what a marginal moves.",
        patched((rounds, "score_sensitivity", _half)),
    ),
    SynthMutant(
        "synth: float scores",
        "Scores are floating-point distances, which rounding may move by more than their sensitivity.",
        patched((rounds, "score", _float_score)),
    ),
    SynthMutant(
        "synth: rows beyond the caps",
        "All rows of a person count, with noise for two of them.",
        patched((question, "Marginals", _uncapped)),
    ),
    SynthMutant(
        "synth: noise for one row",
        "A person has two rows, and noise is for one.",
        patched((question, "measure_norms", lambda *_: Norms(1, 1, 1))),
    ),
    SynthMutant(
        "synth: substitution charged as add/remove",
        "Replacing a person moves a marginal twice as far as removing one.",
        patched((question, "measure_norms", lambda count, bounded, _: _bounded(count, bounded, "add_remove"))),
        relation="substitute",
    ),
    SynthMutant(
        "synth: another salt in each pass",
        "Passes count other rows of busy people, so that marginals are not of one table.",
        patched((question.PreparedTable, "_counted", _new_salt)),
    ),
    SynthMutant(
        "synth check: a sum of distances as one",
        "The sum over marginals has the noise of one of them.",
        patched((checks, "distance_norms", lambda rows, relation, sets, grid: _distances(rows, relation, 1, grid))),
        asks="check",
    ),
    SynthMutant(
        "synth check: distances in rows",
        "Counts are cut into parts of a row, and the noise is for a row.",
        patched((checks, "distance_norms", lambda rows, relation, sets, grid: _distances(rows, relation, sets, 1))),
        asks="check",
    ),
)
