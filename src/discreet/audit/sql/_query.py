"""A SQL query as a mechanism over databases, asked through a session as an analyst asks it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from sqlglot import exp

import discreet.connection as front
from discreet import noise
from discreet.combined import plan_statement
from discreet.errors import ParameterError
from discreet.ledger import open_ledger
from discreet.policy import Budget, Policy, load_policy
from discreet.prices import check_spend
from discreet.privacy import Loss, budget_of
from discreet.query import Expression, Group, GroupKey, Level, Plan, Release, text_of
from discreet.query import _sql as noised

__all__ = ["Output", "Query", "Tables", "outputs_of", "query", "refusal"]


Label = tuple[Any, ...]
Output = dict[str, Any]
"""What one run shows: an answer as in `outputs_of`, or a refusal as in `refusal`."""


def outputs_of(release: Release, sizes: Sequence[int]) -> list[Output]:
    """A release whose rows belong to runs of so many rows each, as one output for each run.

    The form: ``{"columns": text, "rows": {key: place}, "values": {(column, *key): value}, "slopes": {...}}``.

    - `columns` names the columns, their Arrow types, which carry noise and how their error is made.
    - `rows` says which rows there are and in what order. A row is called by its keys; rows that share them, as all do
      where the keys are not selected, have their occurrence behind, from the second on.
    - `values` has every released number, None for null.
    - `slopes`, by (column, measure, *key), has what the error of a ratio such as AVG is computed from: a release
      carries it, and it shows the noisy counts.
    """
    answer = release.answer
    names = answer.table.column_names
    columns = {name: answer.table.column(name).to_pylist() for name in names}
    keys = [columns[name] for name in names if name not in answer.shapes]
    labels = list(zip(*keys, strict=True)) if keys else [()] * sum(sizes)
    values = {(name,): columns[name] for name in answer.shapes}
    slopes = {
        (name, i): slope.tolist()
        for name, shape in answer.shapes.items()
        if not shape.linear
        for i, slope in shape.slopes.items()
    }
    description, start, outputs = _columns_text(release), 0, list[Output]()
    seen: dict[tuple[Label, ...], _Paths] = {}
    for size in sizes:
        end = start + size
        run_labels = tuple(labels[start:end])
        paths = seen.get(run_labels) or seen.setdefault(
            run_labels, _Paths.for_labels(run_labels, list(values), list(slopes))
        )
        output: Output = {
            "columns": description,
            "rows": paths.rows,
            "values": _taken(paths.values, values, start, end),
        }
        if slopes:
            output["slopes"] = _taken(paths.slopes, slopes, start, end)
        outputs.append(output)
        start = end
    return outputs


def refusal(error: Exception) -> Output:
    """A refusal as its type and text, and the same of what a traceback shows behind it."""
    behind = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    shown: Output = {"refused": type(error).__name__, "says": str(error)}
    return shown | {"behind": refusal(behind)} if isinstance(behind, Exception) else shown


def _columns_text(release: Release) -> str:
    answer = release.answer
    parts: list[str] = []
    for field in answer.table.schema:
        shape = answer.shapes.get(field.name)
        noise = "key" if shape is None else f"noisy, linear {shape.linear}, cap {shape.cap}"
        parts.append(f"{field.name} {field.type} ({noise})")
    return ", ".join(chain(parts, map(repr, answer.noises)))


@dataclass(frozen=True, slots=True)
class _Paths:
    """What runs with the same rows share: all but the numbers."""

    rows: dict[Label, int]
    values: list[Label]
    slopes: list[Label]

    @classmethod
    def for_labels(cls, labels: tuple[Label, ...], values: Sequence[Label], slopes: Sequence[Label]) -> _Paths:
        called = _apart(labels)
        paths = [[(*name, *label) for name in names for label in called] for names in (values, slopes)]
        return cls({label: place for place, label in enumerate(called)}, *paths)


def _taken(paths: Sequence[Label], columns: Mapping[Label, Sequence[Any]], start: int, end: int) -> dict[Label, Any]:
    return dict(zip(paths, chain.from_iterable(column[start:end] for column in columns.values()), strict=True))


def _apart(labels: tuple[Label, ...]) -> tuple[Label, ...]:
    if len(set(labels)) == len(labels):
        return labels
    seen: dict[Label, int] = {}
    apart: list[Label] = []
    for label in labels:
        times = seen[label] = seen.get(label, -1) + 1
        apart.append((*label, times) if times else label)
    return tuple(apart)


Tables = Mapping[str, object]
"""A database: from each table's name to an Arrow table, or another source that `discreet.connect` takes."""

_HELD = 8
"""How many outputs of a batch are compared with the same groups finished alone."""

_AMPLE = {"pure": "epsilon", "approx": "epsilon", "rho": "rho", "mu": "mu"}


@dataclass(frozen=True, slots=True)
class Query:
    """A query over databases: called with tables, it gives all that an analyst sees. Made by `query`.

    `query(tables)` opens a fresh session on the tables, with its ledger in memory, asks, and gives the answer or the
    refusal as a dict of plain scalars: see `draw` for many at once. Time, logs and warnings are no part of it. Auditing
    costs no privacy: it is for made-up data.
    """

    text: str
    policy: Policy
    spend: Loss
    salt: bytes
    complete: int
    copies: int

    @property
    def loss(self) -> Loss:
        """What one run charges, which is the claim to audit. Raises `QueryError` or `ParameterError` as `Session.plan`.

        >>> from discreet.privacy import pure
        >>> policy = {"version": "1", "tables": {"t": {"unit": "rows", "columns": {}}}}
        >>> query("SELECT COUNT(*) AS n FROM t", policy, pure(1)).loss
        pure(1)
        """
        plan = plan_statement(self.text, self.policy, self.spend)
        assert plan.loss is not None
        return plan.loss

    def __call__(self, tables: Tables) -> Output:
        """One complete run: connect, plan, reserve, aggregate under a fresh salt, noise, finish, store.

        An answer is ``{"columns": text, "rows": {key: place}, "values": {(column, *key): value}}``, and where it has
        ratios ``"slopes"`` too, and a ``"cap"`` where the query chose one; a key is the tuple of a row's keys. A
        refusal, of whatever type and whatever it depends on, is ``{"refused": type, "says": text}``.
        """
        try:
            with front.connect(tables, self.policy) as session:
                release = session.sql(self.text, self.spend)
            return _shown(release)
        except Exception as error:  # noqa: BLE001 - what it says is the output
            return refusal(error)

    def draw(self, tables: Tables, size: int) -> list[Output]:
        """`size` independent outputs: `complete` complete runs first, then noise redrawn on one bounded aggregate.

        A redrawn output goes through the real session up to its aggregate, once for all: the checks of the source, the
        plan, the reservation and the engine, under the salt of this object. Then for each output the real
        `discreet.session.draw` runs, discovery of keys and every mechanism included, and the plan's own `finish`. It is
        called on the rows of many outputs together, unless the query has HAVING, ORDER BY, LIMIT or grouping sets; the
        first eight outputs are finished alone as well, and if one differs all of them are. So what is broken in a
        planner, bounds, caps, noise, discovery or finish shows here as it does in a complete run.

        What a redraw does not cover, and complete runs do: how the chosen rows vary with the salt, the search for a
        stored answer, and the storing of this one. One salt serves both databases of a pair. That is fair: a person's
        part is bounded for each salt, so the claim holds given the salt, and for every mixture of salts. Outputs are
        independent, though the first ones have another law where a cap bites; a count of events among outputs of
        several laws, each within the claim, varies no more than a binomial one (Hoeffding 1956, Theorem 4).

        `copies` above 1 lets one call of `draw` serve as many outputs, which is many times faster, by way of one more
        public key. The law is the same for mechanisms that draw afresh for each number; where keys are chosen, each
        output has a call of its own. For code under suspicion leave it 1: noise that two numbers of one call share, or
        a seed anew in each call, would look otherwise.

        Raises `ParameterError` unless size is a whole number, 0 or more.

        >>> import pyarrow as pa
        >>> from discreet.privacy import pure
        >>> policy = {"version": "1", "tables": {"t": {"unit": "rows", "columns": {"x": {"type": "int"}}}}}
        >>> count = query("SELECT COUNT(*) AS n FROM t", policy, pure(1000))
        >>> outputs = count.draw({"t": pa.table({"x": [1, 2, 3]})}, 1000)
        >>> len(outputs), outputs[-1]["values"]
        (1000, {('n',): 3})
        """
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"size must be a whole number, 0 or more, got {size!r}")
        first = [self(tables) for _ in range(min(size, self.complete))]
        rest = size - len(first)
        return [*first, *self._redrawn(tables, rest)] if rest else first

    def _redrawn(self, tables: Tables, size: int) -> list[Output]:
        try:
            plan, groups = self.aggregate(tables)
        except Exception as error:  # noqa: BLE001 - what it says is the output
            return [refusal(error)] * size
        if plan.cap is not None:
            return self._redrawn_under_caps(tables, plan, groups[-1], size)
        return self._drawn_again(plan, groups, size)

    def aggregate(self, tables: Tables) -> tuple[Plan, list[list[Group]]]:
        """The plan and the exact sums of each level under this object's salt: as far as a run goes before noise.

        Where it chooses its cap, those under a cap of 1, and last how many people have how many rows.

        Raises what the run would raise.
        """
        from discreet.engines.duckdb import DuckDB

        engine = DuckDB(tables, self.policy)
        try:
            for table in self.policy.tables:
                engine.check(table)
            assert self.policy.budget is not None
            ledger = open_ledger(None, self.policy.budget.loss(), relation=self.policy.relation)
            with ledger:
                plan = front.Session(engine, self.policy, ledger).plan(self.text, self.spend)
                assert plan.loss is not None
                ledger.reserve(plan.hash(self.policy), plan.loss)
                return plan, [engine.run(level.bounded, self.salt) for level in plan.all_levels]
        finally:
            engine.close()

    def _redrawn_under_caps(self, tables: Tables, plan: Plan, people: Sequence[Group], size: int) -> list[Output]:
        """Outputs of a query that chooses its cap: the choice is drawn anew for each, and shown with it."""
        from discreet.engines.duckdb import DuckDB

        assert plan.cap is not None
        counted = plan.cap.level
        assert counted.noise is not None
        places: dict[int, list[int]] = {}
        capped: dict[int, Plan] = {}
        for i in range(size):
            choice = plan.cap.choose(noised.draw(people, counted.bounded, counted.noise), plan.levels)
            assert choice.chosen is not None
            places.setdefault(choice.chosen, []).append(i)
            if choice.chosen not in capped:
                capped[choice.chosen] = noised.with_chosen_cap(plan, choice)
        outputs: list[Output] = [{}] * size
        engine = DuckDB(tables, self.policy)
        try:
            for cap, here in places.items():
                groups = [engine.run(level.bounded, self.salt) for level in capped[cap].levels]
                for i, output in zip(here, self._drawn_again(capped[cap], groups, len(here)), strict=True):
                    outputs[i] = {**output, "cap": cap}
        finally:
            engine.close()
        return outputs

    def _drawn_again(self, plan: Plan, groups: Sequence[Sequence[Group]], size: int) -> list[Output]:
        noisy: list[list[list[Group]] | Output] = []
        while len(noisy) < size:
            noisy += _noisy(plan, groups, min(self.copies, size - len(noisy)))
        return _finished(plan, noisy)


def query(  # noqa: PLR0913
    text: str | Expression,
    policy: str | os.PathLike[str] | Mapping[str, object] | Policy,
    spend: Loss,
    *,
    complete: int = 4,
    copies: int = 1,
    salt: bytes | None = None,
) -> Query:
    """A query as a mechanism over databases, to audit with pairs of them; its claim is `Query.loss`.

    Parameters
    ----------
    text, policy, spend
        As for `discreet.connect` and `Session.sql`. A policy without a budget gets an ample one in the currency of the
        spend.
    complete
        How many complete runs `Query.draw` puts before the redrawn ones.
    copies
        How many outputs one call of the noise serves in `Query.draw`; see there for what 1 is good for.
    salt
        16 bytes that decide in `Query.draw` which rows count where a cap bites; None: fresh ones.

    Costs no privacy. Raises `PolicyError` for a policy that is none, `QueryError` for an Ibis expression that cannot be
    written as SQL, and `ParameterError` for a spend that no budget can hold and for other arguments out of range. SQL
    that is refused is not an error here: the refusal is its output.

    >>> import pyarrow as pa
    >>> from discreet.privacy import pure
    >>> policy = {"version": "1", "tables": {"t": {"unit": "rows", "columns": {"x": {"type": "int", "keys": [1, 2]}}}}}
    >>> tables = {"t": pa.table({"x": [1, 1, 2]})}
    >>> output = query("SELECT x, COUNT(*) AS n FROM t GROUP BY x", policy, pure(1000))(tables)
    >>> output["rows"], output["values"]
    ({(1,): 0, (2,): 1}, {('n', 1): 2, ('n', 2): 1})
    >>> query("SELECT x FROM t", policy, pure(1))(tables)["refused"]
    'QueryError'
    """
    checked = load_policy(policy)
    check_spend(spend)
    if checked.budget is None:
        kind, (_, *deltas) = budget_of(spend)
        ample = {_AMPLE[kind]: 10**30, "delta": "0.999" if any(deltas) else 0}
        checked = checked.model_copy(update={"budget": Budget.model_validate(ample)})
    for name, value, least in (("complete", complete, 0), ("copies", copies, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"{name} must be a whole number, {least} or more, got {value!r}")
    if salt is None:
        salt = noise.secret(16)
    if not isinstance(salt, bytes) or len(salt) != 16:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError("salt must be 16 bytes, or None for fresh ones")
    return Query(text_of(text), checked, spend, salt, complete, copies)


def _noisy(plan: Plan, groups: Sequence[Sequence[Group]], copies: int) -> list[list[list[Group]] | Output]:
    """The groups of each level of so many outputs after noise, by one call of `draw` each; refusals if it raises."""
    try:
        drawn = [_drawn(level, here, copies) for level, here in zip(plan.levels, groups, strict=True)]
        return [list(levels) for levels in zip(*drawn, strict=True)]
    except Exception as error:  # noqa: BLE001 - what it says is the output
        return [refusal(error)] * copies


def _drawn(level: Level, groups: Sequence[Group], copies: int) -> list[list[Group]]:
    assert level.noise is not None
    if copies == 1 or level.noise.top_keys is not None:  # keys are chosen among those of one output
        return [noised.draw(groups, level.bounded, level.noise)]
    copy = GroupKey("copy", tuple(range(copies)), exp.column("copy"), "int")
    bounded = replace(level.bounded, keys=(copy, *level.bounded.keys))
    many = [replace(group, key=(i, *group.key)) for i in range(copies) for group in groups]
    apart: list[list[Group]] = [[] for _ in range(copies)]
    for group in noised.draw(many, bounded, level.noise):
        which, *key = group.key
        assert isinstance(which, int)
        apart[which].append(replace(group, key=tuple(key)))
    return apart


def _finished(plan: Plan, noisy: Sequence[list[list[Group]] | Output]) -> list[Output]:
    """Every output, by one call of `finish` where rows are finished one by one."""
    drawn = [groups for groups in noisy if isinstance(groups, list)]
    across = len(plan.levels) > 1 or any(plan.select.args.get(part) for part in _ACROSS)
    across = across or plan.select.find(exp.Window) is not None
    together = None if across else _together(plan, [groups for (groups,) in drawn])
    if together is None or list(map(repr, together[:_HELD])) != [repr(_alone(plan, each)) for each in drawn[:_HELD]]:
        together = [_alone(plan, groups) for groups in drawn]
    answers = iter(together)
    return [next(answers) if isinstance(groups, list) else groups for groups in noisy]


_ACROSS = ("having", "qualify", "order", "limit", "offset")
"""The clauses that choose among the rows of one output, as several levels put them in an order."""


def _together(plan: Plan, drawn: Sequence[Sequence[Group]]) -> list[Output] | None:
    """One call of `finish` for all; None where it raises or does not give a row for each group."""
    sizes = list(map(len, drawn))
    try:
        release = _release(plan, [[group for groups in drawn for group in groups]])
        return outputs_of(release, sizes) if release.answer.table.num_rows == sum(sizes) else None
    except Exception:  # noqa: BLE001 - each alone will tell whose it was
        return None


def _alone(plan: Plan, groups: Sequence[Sequence[Group]]) -> Output:
    try:
        return _shown(_release(plan, groups))
    except Exception as error:  # noqa: BLE001 - what it says is the output
        return refusal(error)


def _release(plan: Plan, noisy: Sequence[Sequence[Group]]) -> Release:
    assert plan.loss is not None
    return Release(plan.finish(noisy), plan.loss, {})


def _shown(release: Release) -> Output:
    (output,) = outputs_of(release, [release.answer.table.num_rows])
    cap = release.certificate.get("cap")
    return output if cap is None else {**output, "cap": cap["chosen"]}
