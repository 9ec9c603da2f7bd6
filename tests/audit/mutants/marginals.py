"""Mistakes in marginals by residuals, each of which a replay sees: see ``tests/synth/replay.py``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet import noise
from discreet.census.marginal_tables import _measurement as measurement
from discreet.census.marginal_tables import _question as question
from discreet.marginals.residuals import residual_scale
from discreet.sensitivity import Norms
from mutants._mutant import Patches, patched

__all__ = ["MUTANTS", "MarginalMutant"]


@dataclass(frozen=True, slots=True)
class MarginalMutant:
    """The real code with one mistake in it. `relation` is that of the policy that shows it."""

    name: str
    why: str
    patches: Patches
    relation: str = "add_remove"


_answer, _norms, _with_noise = question.PreparedMarginals.answer, measurement.residual_norms, question.with_noise
_statement, _exact = question.PreparedMarginals._statement, measurement._exact


def _free_purse(self: Any, loss: Any) -> None:
    del self, loss


def _everywhere(norms: Any) -> Patches:
    """Both where noise is planned and where it is paid for."""
    return patched((measurement, "residual_norms", norms))


def _own_grid(sizes: Any, rows: int, relation: Any) -> Norms:
    norms, scale = _norms(sizes, rows, relation), residual_scale(sizes)
    return Norms(norms.l1, max(norms.l2_squared // scale**2, 1))


def _apart(self: Any, context: Any) -> Any:
    """Every marginal is counted by itself, with other rows of each person in each."""

    def counted(request: Any, salt: bytes) -> list[Any]:
        return [context.count_marginals(replace(request, sets=(each,)), noise.secret(16))[0] for each in request.sets]

    return _answer(self, replace(context, count_marginals=counted))


def _exact_total(exact: Any, mechanism: Any) -> Any:
    return _with_noise(exact, mechanism) if exact.ndim else np.asarray(exact, np.int64)


def _noise_where_there_are_rows(exact: Any, mechanism: Any) -> Any:
    return np.where(np.asarray(exact) == 0, 0, _with_noise(exact, mechanism)).astype(np.int64)


def _true_rows_shown(self: Any, context: Any) -> Any:
    seen: list[Any] = []

    def counted(request: Any, salt: bytes) -> Any:
        counts = context.count_marginals(request, salt)
        seen.append(int(counts[0].sum()))
        return counts

    certify = context.certify
    return _answer(
        self,
        replace(context, count_marginals=counted, certify=lambda statement: certify({**statement, "rows": seen[0]})),
    )


MUTANTS = (
    MarginalMutant(
        "cells charged as residuals",
        "The counts themselves are measured, on the fine grid, at the price of their residual.",
        patched((measurement, "residual_query", lambda counts: counts * residual_scale(counts.shape))),
    ),
    MarginalMutant(
        "scale of the grid forgotten",
        "The integers are n times the residual, and the noise is that of the residual.",
        _everywhere(_own_grid),
    ),
    MarginalMutant(
        "one row of each person",
        "A person has several rows, and the noise is for one.",
        _everywhere(lambda sizes, rows, relation: _norms(sizes, 1, relation)),
    ),
    MarginalMutant(
        "substitution charged as add/remove",
        "A person who is replaced leaves one cell and enters another.",
        _everywhere(lambda sizes, rows, relation: _norms(sizes, rows, "add_remove")),
        "substitute",
    ),
    MarginalMutant(
        "shares over 1",
        "Shares of the spend add up to 2, and nobody counts what is paid.",
        patched(
            (measurement, "_exact", lambda shares: [2 * each for each in _exact(shares)]),
            (question.Purse, "pay", _free_purse),
        ),
    ),
    MarginalMutant(
        "an exact total",
        "The number of rows is taken to be public.",
        patched((question, "with_noise", _exact_total)),
    ),
    MarginalMutant(
        "zeros without noise",
        "Noise is left out where there is nothing to hide.",
        patched((question, "with_noise", _noise_where_there_are_rows)),
    ),
    MarginalMutant(
        "other rows in every marginal",
        "Each marginal draws the rows of a person anew, so that a person is in more of them than are charged.",
        patched((question.PreparedMarginals, "answer", _apart)),
    ),
    MarginalMutant(
        "the true number of rows in the certificate",
        "A certificate shows how many rows were counted.",
        patched((question.PreparedMarginals, "answer", _true_rows_shown)),
    ),
    MarginalMutant(
        "half of the measurements certified",
        "The certificate lists the first measurements alone.",
        patched((
            question.PreparedMarginals,
            "_statement",
            lambda self: {**_statement(self), "measured": _statement(self)["measured"][::2]},
        )),
    ),
)  # fmt: skip
