"""A plan in words."""

from __future__ import annotations

import math
from fractions import Fraction

from sqlglot import exp

from discreet.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    PermuteAndFlip,
    Quantiles,
    ThresholdedCounts,
)
from discreet.privacy import ApproxLoss, in_words
from discreet.query._checked_query import CheckedQuery, bias_lines
from discreet.query.budget._modes import ModeNoise
from discreet.query.budget._noise import NEARLY_ALWAYS, CountThreshold, KeyDiscovery, Level, Noise, NoiseMechanism
from discreet.query.budget._quantiles import QuantileNoise
from discreet.query.caps._choice import SHARE, CapChoice
from discreet.query.functions._moments import DAY, moment_at
from discreet.query.measures._bounded import GroupKey, public_groups
from discreet.query.measures._histograms import Histogram, ValueKind
from discreet.query.measures._measures import Count, Distinct, Measure, People, Product, Sum
from discreet.query.relations._nodes import Limited, scans, walked
from discreet.query.results._answer import QUANTILE
from discreet.query.results._intervals import check_level
from discreet.rational import decimal_text
from discreet.sensitivity import Norms

__all__ = [
    "DEPENDS_ON_CAP",
    "NO_BAR",
    "cap_lines",
    "column_lines",
    "count_error",
    "explain",
    "mechanisms_of",
    "missing_keys",
    "quantile_lines",
    "rank_error",
    "rank_line",
    "top_lines",
]


def quantile_lines(plan: CheckedQuery, level: Level) -> list[str]:
    """A line for each histogram of a level, and one for each MIN and MAX, which are not what their names say."""
    lines = [
        _mode(plan, level, i) if histogram.values else _histogram(level, i, histogram)
        for i, histogram in enumerate(level.bounded.histograms)
    ]
    for aggregate in plan.aggregates:
        if aggregate.quantile is not None and aggregate.sql.startswith(("MIN(", "MAX(")):
            histogram, place = aggregate.quantile
            share = decimal_text(100 * level.bounded.histograms[histogram].probabilities[place])
            lines.append(f"{aggregate.sql} is the {share} % quantile: the outermost value is one person's own")
    return lines


def rank_line(plan: CheckedQuery, column: str, level: float) -> str | None:
    """How far the rank of an output column may be off, in words, or None for a column that hangs on no quantile.

    Of a mode, how far the count of the value is below the largest.
    """
    histograms = [] if plan.windowed(column) else _histograms(plan, column)
    if not histograms:
        return None
    if any(each.values for each in histograms):
        below = count_error(plan, column, level)
        return "no error bar" if below is None else f"at most {below:,.4g} rows rarer than the most frequent value"
    rows = rank_error(plan, column, level)
    if rows is None:
        return 'rank within some rows, how many depends on their number; plan with assume={"rows": n}'
    return f"rank within ± {rows:,.4g} rows of a group; in its own unit that depends on the data"


def rank_error(plan: CheckedQuery, column: str, level: float) -> float | None:
    """By how many rows the rank of an output column may be off; None where it is no quantile or that is not known."""
    if plan.windowed(column):
        return None
    errors = [
        noise.rank_error(plan.rows_per_group(each), level) if isinstance(noise, QuantileNoise) else None
        for each, noise in _drawn_by(plan, column)
    ]
    known = [error for error in errors if error is not None]
    return max(known) if known and len(known) == len(errors) else None


def count_error(plan: CheckedQuery, column: str, level: float) -> float | None:
    """By how many rows the value of an output column is rarer than the most frequent one; None where it is no mode."""
    if plan.windowed(column):
        return None
    errors = [
        noise.count_error(level) if isinstance(noise, ModeNoise) else None for _, noise in _drawn_by(plan, column)
    ]
    known = [error for error in errors if error is not None]
    return max(known) if known and len(known) == len(errors) else None


def _drawn_by(plan: CheckedQuery, column: str) -> list[tuple[Level, QuantileNoise | ModeNoise]]:
    """What an output column is drawn by, in each level."""
    positions = [plan.levels[0].bounded.histograms.index(each) for each in _histograms(plan, column)]
    return [(each, each.noise.quantiles[i]) for each in plan.levels if each.noise is not None for i in positions]


def mechanisms_of(plan: CheckedQuery, column: str) -> tuple[str, ...]:
    """The names of the mechanisms that an output column is drawn by."""
    return tuple(dict.fromkeys(_mechanism(noise) for _, noise in _drawn_by(plan, column)))


def _mechanism(noise: QuantileNoise | ModeNoise) -> str:
    return "permute-and-flip" if isinstance(noise.mechanism, PermuteAndFlip) else "exponential mechanism"


def _histograms(plan: CheckedQuery, column: str) -> list[Histogram]:
    """The histograms whose quantiles or modes an output column hangs on."""
    items = [item for item in plan.select.expressions if item.alias == column]
    read = [plan.aggregates[int(leaf.name[1:])] for item in items for leaf in item.find_all(exp.Placeholder)]
    positions = sorted({aggregate.quantile[0] for aggregate in read if aggregate.quantile is not None})
    return [plan.levels[0].bounded.histograms[i] for i in positions]


def _histogram(level: Level, position: int, histogram: Histogram) -> str:
    low, high = (_value(bound, histogram.kind) for bound in histogram.bounds)
    shares = ", ".join(f"{decimal_text(100 * p)} %" for p in histogram.probabilities)
    rows = "" if histogram.when is None else f" where {histogram.when.sql()}"
    what = (
        f"quantiles {shares} of {histogram.written.sql()}{rows}, to the nearest {_step(histogram)} in [{low}, {high}]"
    )
    if level.noise is None:
        return what
    mechanism = level.noise.quantiles[position].mechanism
    assert isinstance(mechanism, Quantiles)
    method = "drawn jointly" if mechanism.method == "joint" else "drawn one after the other"
    many = f", {method}" if len(histogram.probabilities) > 1 else ""
    return f"{what}; exponential mechanism, epsilon {decimal_text(mechanism.epsilon)} for each row{many}"


def _mode(plan: CheckedQuery, level: Level, position: int) -> str:
    histogram = level.bounded.histograms[position]
    sql = next(each.sql for each in plan.aggregates if each.quantile is not None and each.quantile[0] == position)
    what = f"{sql}: one of {_count(len(histogram.values), 'public value')}, the likelier the more rows it has"
    if level.noise is None:
        return what
    noise = level.noise.quantiles[position]
    return f"{what}; {_mechanism(noise)}, epsilon {decimal_text(noise.mechanism.epsilon)} for each row"


NO_BAR = "no error bar: a window over rows with noise"
"""What stands in place of the half-width of a rank, and of other windows that noise moves in no known way."""


def _value(number: Fraction, kind: ValueKind) -> str:
    """A point of a grid; of dates and timestamps, as they are written."""
    if kind == "number":
        return decimal_text(number)
    moment = moment_at(int(number) * (DAY if kind == "date" else 10**6))
    return str(moment.date() if kind == "date" else moment)


def _step(histogram: Histogram) -> str:
    step = histogram.step
    if histogram.kind == "number":
        return decimal_text(step)
    units = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))
    seconds = int(step) * (86_400 if histogram.kind == "date" else 1)
    unit, size = next((unit, size) for unit, size in units if seconds % size == 0)
    return _count(seconds // size, unit)


_DEPENDS = {True: 'depends on the data; plan with assume={"rows": n}', False: "depends on the data"}


def column_lines(plan: CheckedQuery, level: float) -> list[str]:
    """A line for each column with noise: its half-width, the measures that it is read off, what may bias it."""
    cells = [
        (f"{name}: {_half_width(plan, name, level)}", _read_off(plan, name), _bias(plan, name)) for name in plan.noisy
    ]
    widths = [max((len(row[i]) for row in cells), default=0) for i in range(2)]
    return [f"{first:<{widths[0]}}  {second:<{widths[1]}}  {third}" for first, second, third in cells]


DEPENDS_ON_CAP = 'depends on the cap; plan with assume={"max_rows": n}'
"""What stands in place of a half-width before a cap is chosen."""


def _half_width(plan: CheckedQuery, column: str, level: float) -> str:
    half = plan.error(column, level)
    if plan.cap is not None and plan.cap.chosen is None:
        return DEPENDS_ON_CAP
    if half is not None:
        return f"± {'~' if plan.approximate(column) else ''}{half:.4g}"
    if plan.barless(column):
        return NO_BAR
    return rank_line(plan, column, level) or _DEPENDS[plan.rows is None and plan.before is None]


def _read_off(plan: CheckedQuery, column: str) -> str:
    picked = all(each.values for each in _histograms(plan, column))
    drawn = "a choice" if picked else "quantiles"
    numbers = [drawn if i == QUANTILE else f"[{i + 1}]" for i in plan.measures_of(column)]
    return f"from {' '.join(numbers)}"


def _bias(plan: CheckedQuery, column: str) -> str:
    """What of the bounds and caps may move the answer, beside noise."""
    as_stored = not any(_is_clamped(plan, each) for each in _histograms(plan, column))
    positions = [i for i in plan.measures_of(column) if i != QUANTILE or not as_stored]
    causes = list(dict.fromkeys(filter(None, (_clamped(plan, i) for i in positions))))
    if plan.unit.name is not None:
        causes.append("caps on a person's rows" + (" and groups" if plan.levels[0].bounded.max_groups else ""))
    return f"bias: {', '.join(causes) or 'none'}"


def _is_clamped(plan: CheckedQuery, histogram: Histogram) -> bool:
    """Whether values may be moved into bounds: those of quantiles, and of modes of whole numbers and dates."""
    if histogram.kind not in ("int", "date"):
        return not histogram.values
    fields = [plan.levels[0].bounded.columns[each.name] for each in histogram.argument.find_all(exp.Column)]
    return not histogram.values or any(field.bounds is not None and field.keys is None for field in fields)


def _clamped(plan: CheckedQuery, position: int) -> str:
    bounded = plan.levels[0].bounded
    if position == QUANTILE:
        return "clamping of values to their bounds"
    match bounded.measures[position]:
        case Sum() as measure:
            return _clamping(measure)
        case Product() as measure:
            return ", ".join(dict.fromkeys(_clamping(side) for side in (measure.left, measure.right)))
        case _:
            return ""


def _clamping(measure: Sum) -> str:
    low, high = ((bound + measure.center) * measure.step for bound in (measure.lower, measure.upper))
    if low == high:
        return ""
    return f"clamping of {measure.argument.sql()} to [{decimal_text(low)}, {decimal_text(high)}]"


def top_lines(plan: CheckedQuery, level: Level) -> list[str]:
    """How a query for the first keys is bought, in a line or none."""
    if level.noise is None:
        return []
    if level.noise.ranked is not None:
        return [f"choice of keys: none, noisy counts of all keys are ranked; {level.noise.ranked}"]
    if level.noise.top_keys is None:
        return []
    top, keys = level.noise.top_keys, public_groups(level.bounded.keys)
    by = next(a.sql for a in plan.aggregates if a.kind == "COUNT" and a.count == top.count)
    scale = top.mechanism.sensitivity * (1 if top.mechanism.monotone else 2) / top.mechanism.epsilon
    many = "1 key is" if top.mechanism.k == 1 else f"{top.mechanism.k:,} keys are"
    how = f"top-k with Gumbel noise of scale {decimal_text(scale)}, for half the share of that count"
    why = f"cheaper than noise on all keys, with L1 sensitivity {level.norms[top.count].l1:,}"
    return [f"choice of keys: {many} chosen out of {keys:,} by {by}, {how}; {why}"]


def explain(plan: CheckedQuery, level: float = 0.95) -> str:
    """What the plan does and how far off its answers may be, for people; see `Plan.explain`."""
    level = check_level(level)
    lines = [plan.sql, ""]
    who = "every row is another person" if plan.unit.name is None else f"a person is a value of {plan.unit.name}"
    lines.append(f"Protected: {who}; neighbours differ by {_RELATIONS[plan.unit.relation]} one person.")
    several = len(plan.levels) > 1
    if several:
        lines.append(f"{len(plan.levels)} grouping sets, one after the other, each with an even share of the spend.")
    if plan.cap is not None:
        lines += cap_lines(plan.cap)
    for each in plan.levels:
        lines += ["", _title(each)] if several else []
        lines += _level(plan, each)
    if plan.bias:
        lines += ["", "Bias, estimated over all groups together for a tenth of the spend:"]
        lines += [f"  {line}" for line in bias_lines(plan.bias, level)]
    if plan.loss is None:
        lines += ["", "Give a spend to see the noise: plan(query, spend=dp.pure(0.5))."]
        return "\n".join(lines)
    widest = "; of several sets the widest" if several else ""
    widths = column_lines(plan, level)
    rough = "; ~ approximate" if any("± ~" in line for line in widths) else ""
    caveat = f"noise only; not the bias of clamping and caps{widest}{rough}"
    if widths:
        lines += ["", f"Half-widths at {100 * level:.10g} % ({caveat}):", *(f"  {line}" for line in widths)]
    lines += ["", f"Cost: {in_words(plan.loss)}."]
    return "\n".join(lines)


def cap_lines(cap: CapChoice) -> list[str]:
    """How a query chooses its cap, in a line."""
    caps = cap.caps[: cap.affordable]
    few = ", ".join(f"{each:,}" for each in caps[:4])
    listed = few if len(caps) <= 4 else f"{few}, …, {caps[-1]:,}"
    share = decimal_text(100 * SHARE)
    how = f"by how many people have how many rows, counted with noise for {share} % of the spend"
    return [f"Cap on a person's rows: one of {listed}, chosen {how}."]


def _title(level: Level) -> str:
    keys = ", ".join(key.name for key in level.bounded.keys) or "all rows together"
    return f"By {keys}:" if level.noise is None else f"By {keys}, for {in_words(level.noise.loss)}:"


def _level(plan: CheckedQuery, level: Level) -> list[str]:
    """The caps, keys and measures of a level, with their noise if there is a spend."""
    bounded, lines = level.bounded, list[str]()
    if plan.unit.name is not None:
        groups = "" if bounded.max_groups is None else f" and {_count(bounded.max_groups, 'group')}"
        supposed = "" if plan.cap is None else "if that is the cap that is chosen, "
        lines.append(f"Caps: {supposed}at most {_count(bounded.max_rows, 'row')}{groups} of one person count.")
        lines += [_limit(node) for node in walked(bounded.relation) if isinstance(node, Limited)]
    for key in bounded.keys:
        public = key_words(key)
        public += " that the conditions leave" if key.narrowed else ""
        within = "; values beyond the bounds of its columns are moved into them" if key.bounded is not None else ""
        lines.append(f"Key {key.name}: {public}{within}.")
    if bounded.is_public:
        return [
            *lines,
            "Nothing is asked of rows: all keys are public, and in the answer whether or not a row has them.",
        ]
    lines += ["", "Measures (summed exactly in whole numbers, then noised):"]
    lines += [f"  [{i + 1}] {_measure(plan, level, i)}" for i in range(len(bounded.measures))]
    lines += [f"  {line}" for line in _together(level)]
    lines += [f"  {line}" for line in quantile_lines(plan, level)]
    lines += [f"  {line}" for line in top_lines(plan, level)]
    if level.noise is not None and level.noise.selection is not None:
        lines.append(f"  key discovery: {_discovery(level.noise.selection)}; {missing_keys(level.noise.selection)}")
    return lines


def key_words(key: GroupKey) -> str:
    """Which groups there are by a key."""
    public = key.public
    if key.values is None:
        return "private keys, discovered" + ("" if public is None else ": its public values are too many to list")
    if public is None:
        return _count(len(key.values), "public key")
    if key.is_unread:
        return f"public keys, which a session reads before it asks: {public.query}"
    others = [name for name in public.names if name != key.name]
    beside = f", in the combinations with {', '.join(others)} that there are" if others else ""
    return f"{_count(len(key.values), 'public key')}{beside}, by {public.query}"


def missing_keys(selection: KeyDiscovery) -> str:
    """From how many people on a group is as good as certain to be shown, and that smaller ones may be missing."""
    return f"groups of fewer than {selection.shown_from(NEARLY_ALWAYS):,} people may be missing"


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


def _discovery(selection: KeyDiscovery) -> str:
    if isinstance(selection, CountThreshold):
        rule = selection.rule
        return f"keys are shown whose noisy count [{selection.count + 1}] is {_reached(rule)}"
    if isinstance(selection, ThresholdedCounts):
        noisy = _noise(selection.noise).replace(" steps", "")
        return f"keys are shown whose count of people with {noisy} is {_reached(selection)}"
    epsilon, delta = decimal_text(selection.key_epsilon), decimal_text(selection.key_delta)
    return f"optimal partition selection, epsilon {epsilon} and delta {delta} for each key of a person"


def _reached(rule: ThresholdedCounts) -> str:
    ceiling = math.ceil(rule.threshold)
    edge = float(ceiling - rule.threshold)
    return f"{ceiling:,} or more" + (f", or {ceiling - 1:,} with a probability of {100 * edge:.3g} %" if edge else "")


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


def _measure(plan: CheckedQuery, level: Level, position: int) -> str:
    measure = level.bounded.measures[position]
    top = None if level.noise is None else level.noise.top_keys
    limits = level.norms[position] if top is None else top.norms[position]
    noise = "" if level.noise is None else f", {_noise(level.noise.mechanisms[position])}"
    if limits.l2_squared != limits.l1**2:
        noise += f"; L2 sensitivity {limits.l2_squared**0.5:,.4g}"
    if level.noise is not None:
        budget = "the spend" if len(plan.levels) == 1 else "its share"
        noise += f"; {float(100 * level.noise.shares[position]):.4g} % of {budget}"
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
