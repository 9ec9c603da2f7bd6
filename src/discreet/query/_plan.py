"""A plan: a checked query that explains itself and finds the spend for an error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from discreet.errors import ParameterError
from discreet.privacy import Loss
from discreet.query._checked_query import CheckedQuery, assume_rows
from discreet.query._explain import explain, rank_error
from discreet.query._release import Release
from discreet.query._spend import spend_for
from discreet.rational import Number

__all__ = ["Plan", "assuming"]


@dataclass(frozen=True, slots=True, repr=False)
class Plan(CheckedQuery):
    """A checked query. Making one costs nothing and touches no data; see `explain`.

    It has one level for each of its grouping sets, which are paid for one by one; most queries have one level.
    """

    def spend_for(
        self,
        error: Mapping[str, Number],
        level: float = 0.95,
        currency: str | None = None,
        delta: Number | None = None,
    ) -> Loss:
        """The least spend with which the half-width of each named column, as `error` has it, is at most its target.

        Parameters
        ----------
        error
            For each column that matters, the half-width that it may have.
        level
            The probability with which the noise is to be within the half-width.
        currency
            "pure", "approx", "rho" or "mu"; that of the plan's spend if it has one, else that of the policy's budget.
        delta
            The δ of the spend, for the discovery of private keys or for Gaussian noise in (ε, δ); that of the plan's
            spend if it has one of that currency, else none.

        The spend has four digits, rounded up. So where a half-width hangs continuously on the spend, it reaches its
        target to 1 in 1,000, or the target of another column does. A half-width that is a whole number of steps, as
        that of a count is, is the largest that is within its target. Errors that depend on the data need the plan's
        `assume`. Costs nothing and touches no data. Source: ``proofs/budgets.md``.

        Raises `ParameterError` for a column that has no error or one that is not known before the data are, for a
        target that is not positive or that no spend reaches, and where keys are private and no delta is given.
        """
        if self.bias:
            raise ParameterError("spend_for is for a plan without bias=True; with it, a tenth of the spend is gone")
        return spend_for(self, error, level, currency, delta)

    def rank_error(self, column: str, level: float = 0.95) -> float | None:
        """By how many rows of a group the rank of an output column is off at most, with probability `level` or more.

        None for a column that is no quantile, and where that depends on a number of rows that is not assumed. Raises
        `ParameterError` without a spend.
        """
        if self.loss is None:
            raise ParameterError("errors need a spend: plan(query, spend=…)")
        return rank_error(self, column, level)

    def explain(self, level: float = 0.95) -> str:
        """What the plan does, in words and one line for each output column."""
        return explain(self, level)


def assuming(plan: Plan, assume: Mapping[str, int] | Release | None) -> Plan:
    """The plan under an assumption: a public number of rows, or the values of an earlier release of its query.

    Raises `ParameterError` for anything else, and for a release of another query or under other bounds.
    """
    if not isinstance(assume, Release):
        return replace(plan, rows=assume_rows(assume))
    if assume.certificate.get("shape") != plan.shape:
        raise ParameterError(
            "assume takes an earlier release of the same query under the same bounds; this one answers "
            f"{assume.certificate.get('query')!r}"
        )
    return replace(plan, before=assume.answer)
