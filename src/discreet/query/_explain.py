"""A plan in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, PartitionSelection
from discreet.privacy import ApproxLoss, in_words
from discreet.query._bias_parts import bias_lines
from discreet.query._explain_columns import column_lines
from discreet.query._quantile_words import quantile_lines
from discreet.query._top_words import top_lines
from discreet.query.budget._noise import Noise, NoiseMechanism
from discreet.query.measures._measures import Count, Distinct, Measure, People, Product, Sum
from discreet.query.relations._nodes import Limited, scans, walked
from discreet.query.results._intervals import check_level
from discreet.rational import decimal_text
from discreet.sensitivity import Norms

if TYPE_CHECKING:
    from discreet.query._plan import Plan
    from discreet.query.budget._noise import Level

__all__ = ["explain"]


def explain(plan: Plan, level: float = 0.95) -> str:
    """What the plan does and how far off its answers may be, for people; see `Plan.explain`."""
    level = check_level(level)
    lines = [plan.sql, ""]
    who = "every row is another person" if plan.unit.name is None else f"a person is a value of {plan.unit.name}"
    lines.append(f"Protected: {who}; neighbours differ by {_RELATIONS[plan.unit.relation]} one person.")
    several = len(plan.levels) > 1
    if several:
        lines.append(f"{len(plan.levels)} grouping sets, one after the other, each with an even share of the spend.")
    for each in plan.levels:
        lines += ["", _title(each)] if several else []
        lines += _level(plan, each)
    if plan.bias:
        lines += ["", "Bias, estimated over all groups together for a tenth of the spend:"]
        lines += [f"  {told}" for told in bias_lines(plan.bias, level)]
    if plan.loss is None:
        lines += ["", "Give a spend to see the noise: plan(query, spend=dp.pure(0.5))."]
        return "\n".join(lines)
    widest = "; of several sets the widest" if several else ""
    told = column_lines(plan, level)
    rough = "; ~ approximate" if any("± ~" in line for line in told) else ""
    about = f"noise only; not the bias of clamping and caps{widest}{rough}"
    lines += ["", f"Half-widths at {100 * level:.10g} % ({about}):", *(f"  {line}" for line in told)]
    lines += ["", f"Cost: {in_words(plan.loss)}."]
    return "\n".join(lines)


def _title(level: Level) -> str:
    keys = ", ".join(key.name for key in level.bounded.keys) or "all rows together"
    return f"By {keys}:" if level.noise is None else f"By {keys}, for {in_words(level.noise.loss)}:"


def _level(plan: Plan, level: Level) -> list[str]:
    """The caps, keys and measures of a level, with their noise if there is a spend."""
    bounded, lines = level.bounded, list[str]()
    if plan.unit.name is not None:
        groups = "" if bounded.max_groups is None else f" and {_count(bounded.max_groups, 'group')}"
        lines.append(f"Caps: at most {_count(bounded.max_rows, 'row')}{groups} of one person count.")
        lines += [_limit(node) for node in walked(bounded.relation) if isinstance(node, Limited)]
    for key in bounded.keys:
        public = f"{_count(len(key.values), 'public key')}" if key.values is not None else "private keys, discovered"
        lines.append(f"Key {key.name}: {public}.")
    lines += ["", "Measures (summed exactly in whole numbers, then noised):"]
    lines += [f"  [{i + 1}] {_measure(plan, level, i)}" for i in range(len(bounded.measures))]
    lines += [f"  {told}" for told in _together(level)]
    lines += [f"  {told}" for told in quantile_lines(plan, level)]
    lines += [f"  {told}" for told in top_lines(plan, level)]
    if level.noise is not None and level.noise.selection is not None:
        lines.append(f"  key discovery: {_discovery(level.noise.selection)}")
    return lines


def _limit(limited: Limited) -> str:
    """How many rows of a person, or of a public table, enter a step."""
    tables = " with ".join(dict.fromkeys(scan.table for scan in scans(limited.input)))
    if limited.by is None:
        return f"Of {tables}: at most {_count(limited.rows, 'row')} of one person are read."
    return (
        f"Of {tables}: at most {_count(limited.rows, 'row')} of each value that is compared are read; "
        "declare its key in the policy if each value has one."
    )


_RELATIONS = {"add_remove": "adding or removing", "substitute": "replacing the rows of"}


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _noise(mechanism: NoiseMechanism) -> str:
    if isinstance(mechanism, DiscreteLaplace):
        return f"discrete Laplace noise of scale {decimal_text(mechanism.scale)} steps"
    law = "discrete Gaussian noise" if isinstance(mechanism, DiscreteGaussian) else "rounded Gaussian noise"
    return f"{law} of sigma {decimal_text(mechanism.sigma)} steps"


def _discovery(selection: PartitionSelection) -> str:
    epsilon, delta = decimal_text(selection.key_epsilon), decimal_text(selection.key_delta)
    return f"optimal partition selection, epsilon {epsilon} and delta {delta} for each key of a person"


def _together(level: Level) -> list[str]:
    """What Gaussian noise costs where the spend is in (ε, δ)."""
    noise = level.noise
    if (
        noise is None
        or not isinstance(noise.loss, ApproxLoss)
        or not any(isinstance(m, Gaussian) for m in noise.mechanisms)
    ):
        return []
    squared = sum(limits.l2_squared / mechanism.sigma**2 for mechanism, limits in _gaussians(noise, level))
    epsilon = sum(noise.shares) * noise.loss.eps
    delta = noise.loss.at_delta / (1 if noise.selection is None else 2)
    within = f"epsilon {decimal_text(epsilon)} and delta {decimal_text(delta)}"
    return [f"Gaussian noise on all measures together: mu {float(squared) ** 0.5:.4g}, certified to be within {within}"]


def _gaussians(noise: Noise, level: Level) -> list[tuple[Gaussian, Norms]]:
    pairs = zip(noise.mechanisms, level.norms, strict=True)
    return [(mechanism, limits) for mechanism, limits in pairs if isinstance(mechanism, Gaussian)]


def _measure(plan: Plan, level: Level, position: int) -> str:
    measure = level.bounded.measures[position]
    top = None if level.noise is None else level.noise.top_keys
    limits = level.norms[position] if top is None else top.norms[position]
    noise = "" if level.noise is None else f", {_noise(level.noise.mechanisms[position])}"
    if limits.l2_squared != limits.l1**2:
        noise += f"; L2 sensitivity {limits.l2_squared**0.5:,.4g}"
    if level.noise is not None:
        whole = "the spend" if len(plan.levels) == 1 else "its share"
        noise += f"; {float(100 * level.noise.shares[position]):.4g} % of {whole}"
    steps, where = ("" if isinstance(measure, People | Distinct) else " steps"), " over the chosen keys" if top else ""
    return f"{_summed(measure)}{_rows(measure)}; L1 sensitivity {limits.l1:,}{steps}{where}{noise}"


def _summed(measure: Measure) -> str:
    match measure:
        case People():
            return "number of people"
        case Distinct():
            return f"COUNT(DISTINCT {measure.argument.sql()})"
        case Count():
            return "COUNT(*)" if measure.argument is None else f"COUNT({measure.argument.sql()})"
        case Product():
            left, right = (_centered(side) for side in (measure.left, measure.right))
            return f"SUM({left} * {right}){_limits(measure)}"
        case Sum():
            return f"SUM({measure.argument.sql()}){_limits(measure)}"


def _centered(side: Sum) -> str:
    return f"({side.argument.sql()} - {decimal_text(side.center * side.step)})" if side.center else side.argument.sql()


def _limits(measure: Sum | Product) -> str:
    step = decimal_text(measure.step)
    low, high = (decimal_text(b * measure.step) for b in (measure.lower, measure.upper))
    shift = f" less {decimal_text(measure.center * measure.step)}" if measure.center else ""
    return f", each row{shift} in [{low}, {high}] in steps of {step}"


def _rows(measure: Measure) -> str:
    """Which rows contribute, beside those that the whole query takes."""
    conditions: list[str] = []
    if isinstance(measure, Count | Sum | Product) and measure.beside is not None:
        conditions.append(f"{measure.beside.sql()} is not null")
    if measure.when is not None:
        conditions.append(measure.when.sql())
    return f", where {' and '.join(conditions)}" if conditions else ""
