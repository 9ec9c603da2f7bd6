"""A plan: a checked query that explains itself and finds the least spend that reaches an error.

What is and is not guaranteed: ``proofs/budgets.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from discreet.errors import ParameterError
from discreet.privacy import ApproxLoss, Loss, MuLoss, PureLoss, RhoLoss, budget_of
from discreet.query._checked_query import CheckedQuery, assumed
from discreet.query._explain import explain, rank_error, rank_line
from discreet.query._plan_table import PlanTable, plan_table
from discreet.query._release import Release
from discreet.query.budget._calibrate import Slopes, calibrate, column_slopes, level_spends, part_of
from discreet.query.budget._noise import Level
from discreet.query.budget._top_k import top_rows
from discreet.query.caps._choice import SHARE, CapChoice
from discreet.query.results._intervals import check_level
from discreet.rational import Number, rational

__all__ = ["Plan", "assuming", "spend_for", "with_chosen_cap", "with_spend"]


Q = TypeVar("Q", bound=CheckedQuery)


def with_spend(plan: Q, spend: Loss, slopes: Sequence[Slopes] | None = None) -> Q:
    """The same plan for another spend, each of its levels with the noise that its share buys.

    The `slopes` are those of `column_slopes` for its levels, which are no other for another spend. Costs nothing and
    touches no data. Raises `ParameterError` for a spend that cannot buy the query.
    """
    if plan.cap is None:
        return replace(plan, levels=_bought(plan, plan.levels, spend, slopes), spend=spend)
    cap, rest = plan.cap.bought(spend, plan.unit), part_of(spend, 1 - SHARE, keeps_delta=True)
    levels = _bought(plan, cap.at(cap.chosen or 1, plan.unit), rest)
    if cap.chosen is None:
        cap = replace(cap, affordable=_affordable(plan, cap, rest))
    return replace(plan, levels=levels, spend=spend, cap=cap)


def with_chosen_cap(plan: Q, cap: CapChoice) -> Q:
    """The plan of a query that chooses its cap, once it is chosen: what is answered, with the noise under that cap.

    Where no noise can be calibrated under it, the next smaller cap takes its place under which it can; 1 is such a cap.
    """
    assert plan.spend is not None
    assert cap.chosen is not None
    least, *larger = sorted({cap.chosen, *(each for each in cap.caps if each < cap.chosen)})
    for each in reversed(larger):
        try:
            return with_spend(replace(plan, cap=replace(cap, chosen=each)), plan.spend)
        except ParameterError:
            continue
    return with_spend(replace(plan, cap=replace(cap, chosen=least)), plan.spend)


def _affordable(plan: CheckedQuery, cap: CapChoice, spend: Loss) -> int:
    """How many of the caps may be chosen: up to one that leaves the spend enough for noise, as the first one does."""

    def is_enough(place: int) -> bool:
        try:
            _bought(plan, cap.at(cap.caps[place], plan.unit), spend)
        except ParameterError:
            return False
        return True

    low, high = 0, len(cap.caps)
    if is_enough(high - 1):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_enough(middle) else (low, middle)
    return high


def _bought(
    plan: CheckedQuery, levels: Sequence[Level], spend: Loss, slopes: Sequence[Slopes] | None = None
) -> tuple[Level, ...]:
    """Levels with the noise that the spend buys."""
    buying = [level for level in levels if not level.bounded.is_public]
    shares = iter(level_spends(spend, [level.bounded.count_units for level in buying]) if buying else ())
    spends = [spend if level.bounded.is_public else next(shares) for level in levels]
    if slopes is None:
        slopes = column_slopes(plan.select, levels, plan.aggregates)
    return tuple(
        replace(
            level,
            noise=calibrate(
                share,
                level.bounded,
                level.norms,
                plan.unit,
                here,
                top_rows(plan.select, level.bounded, plan.aggregates) if len(levels) == 1 else None,
            ),
        )
        for level, share, here in zip(levels, spends, slopes, strict=True)
    )


_NAMES = ("pure", "approx", "rho", "mu")
_A_DECADE = 9_000
_LEAST, _ONE, _MOST = (_A_DECADE * exponent for exponent in (-13, -3, 6))
"""Places of 10⁻¹⁰, 1 and 10⁹ in the order of all numbers of four digits."""


def spend_for(
    plan: CheckedQuery,
    error: Mapping[str, Number],
    level: float = 0.95,
    currency: str | None = None,
    delta: Number | None = None,
) -> Loss:
    """The least spend with which every named column's half-width is at most its target; see `Plan.spend_for`."""
    targets = _targets(error)
    check_level(level)
    name, at_delta = _currency(plan, currency, delta)

    slopes = None if plan.cap is not None else column_slopes(plan.select, plan.levels, plan.aggregates)

    def bought(place: int) -> CheckedQuery:
        return with_spend(plan, _spend(name, _number(place), at_delta), slopes)

    at_one = bought(_ONE)
    for column in targets:
        _check_column(at_one, column, level)
    widths = at_one.widths()
    order = list(targets)

    def enough(place: int) -> bool:
        try:
            at = bought(place)
        except ParameterError:  # too little to calibrate any noise to
            return False
        for i, column in enumerate(order):
            half = widths(at, column, level)
            if half is None or half > targets[column]:
                order[: i + 1] = [column, *order[:i]]  # what was not enough for it once is asked of it first
                return False
        return True

    low, high = _around(enough)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return _spend(name, _number(high), at_delta)


def _around(enough: Callable[[int], bool]) -> tuple[int, int]:
    """A place that is not enough and one that is, less than a factor of ten above it."""
    high = _ONE
    while not enough(high):
        if high >= _MOST:
            raise ParameterError("no spend up to 1e9 reaches this error; ask for a wider one, or of fewer columns")
        high += _A_DECADE
    low = high - _A_DECADE
    while low > _LEAST and enough(low):
        low, high = low - _A_DECADE, low
    return low, high


def _number(place: int) -> Fraction:
    """The numbers of four digits in rising order: 1 has place −27,000, and 1.001 the next one."""
    exponent, digits = divmod(place, _A_DECADE)
    return (1_000 + digits) * Fraction(10) ** exponent


def _spend(name: str, main: Fraction, delta: Fraction) -> Loss:
    match name:
        case "rho":
            return RhoLoss(main, delta)
        case "mu":
            return MuLoss(main * main, delta)
        case _:
            return ApproxLoss(main, delta) if delta else PureLoss(main)


def _currency(plan: CheckedQuery, currency: str | None, delta: Number | None) -> tuple[str, Fraction]:
    """The currency that is asked for, or that of the plan's spend or of the policy, and the δ beside it."""
    own = None if plan.spend is None else budget_of(plan.spend)
    name = currency or (own[0] if own else plan.currency)
    if name is None:
        raise ParameterError('say in what to count the spend: currency="pure", "approx", "rho" or "mu"')
    if name not in _NAMES:
        raise ParameterError(f"currency is one of {', '.join(_NAMES)}; got {name!r}")
    if delta is not None:
        given = rational(delta, "delta")
    else:
        given = sum(own[1][1:], Fraction(0)) if own and name != "pure" else Fraction(0)
    if not 0 <= given < 1:
        raise ParameterError(f"delta must lie from 0 to below 1, got {delta!r}")
    if given and name == "pure":
        raise ParameterError('a pure epsilon has no delta; ask for currency="approx"')
    if not given and any(level.bounded.count_units for level in plan.levels):
        raise ParameterError(
            "the query has private keys, whose discovery needs a delta: spend_for(error, delta=1e-6), in a currency "
            "other than pure, or list the keys in the policy if they are public"
        )
    return name, given


def _targets(error: Mapping[str, Number]) -> dict[str, Fraction]:
    if not isinstance(error, Mapping) or not error:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError('say which error to reach: spend_for(error={"column": half_width})')
    targets = {column: rational(half, f"the error of {column}") for column, half in error.items()}
    for column, half in targets.items():
        if half <= 0:
            raise ParameterError(f"the error of {column} must be greater than 0: noise cannot vanish")
    return targets


def _check_column(plan: CheckedQuery, column: str, level: float) -> None:
    """Raise `ParameterError` unless the column has an error that is known before the data are."""
    if plan.error(column, level) is not None:
        return
    if plan.cap is not None and plan.cap.chosen is None:
        raise ParameterError(
            f"the error of {column} depends on the cap that is chosen; plan with assume={{'max_rows': n}}"
        )
    if plan.barless(column):
        raise ParameterError(f"{column} is a window over rows with noise, which has no error bar; name another column")
    if rank_line(plan, column, level):
        raise ParameterError(
            f"{column} hangs on a quantile or a mode, whose error is known in rank alone; see explain()"
        )
    if plan.rows is None and plan.before is None:
        raise ParameterError(
            f"the error of {column} depends on the data; add assume={{'rows': n}} to the plan, or assume=release with "
            "an earlier release of this query"
        )
    raise ParameterError(f"the error of {column} depends on the data; plan with assume=release, an earlier release")


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

    def table(self, level: float = 0.95) -> PlanTable:
        """A row for each column of the answer: what it is, its noise, and its error at `level`, as `print` shows it."""
        return plan_table(self, level)

    def __str__(self) -> str:
        return self.table().to_text()

    def _repr_html_(self) -> str:
        return self.table().to_html()

    def explain(self, level: float = 0.95) -> str:
        """What the plan does, in words and one line for each output column."""
        return explain(self, level)


def assuming(plan: Plan, assume: Mapping[str, int] | Release | None) -> Plan:
    """The plan under an assumption: a public number of rows, a cap, or the values of an earlier release of its query.

    Raises `ParameterError` for anything else, for a cap where the policy has them, and for a release of another query
    or under other bounds.
    """
    if not isinstance(assume, Release):
        rows, most = assumed(assume)
        return replace(plan if most is None else _with_assumed_cap(plan, most), rows=rows)
    if assume.certificate.get("shape") != plan.shape:
        raise ParameterError(
            "assume takes an earlier release of the same query under the same bounds; this one answers "
            f"{assume.certificate.get('query')!r}"
        )
    chosen = assume.certificate.get("cap")
    if isinstance(chosen, Mapping):
        plan = _with_assumed_cap(plan, int(chosen["chosen"]))
    return replace(plan, before=assume.answer)


def _with_assumed_cap(plan: Plan, most: int) -> Plan:
    if plan.cap is None:
        raise ParameterError(
            'assume={"max_rows": n} is for a query that chooses its cap; the policy has numbers for this one'
        )
    cap = replace(plan.cap, chosen=min(most, plan.cap.caps[-1]))
    if plan.spend is not None:
        return with_chosen_cap(plan, cap)
    return replace(plan, cap=cap, levels=cap.at(cap.chosen or 1, plan.unit))
