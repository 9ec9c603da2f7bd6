"""A tree of another dialect as the tree that means the same here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.dialects._casts import cast, is_released
from discreet.query.dialects._kinds import Kind, Kinds
from discreet.query.dialects._nodes import check_node, known_parts
from discreet.query.dialects._rules import Arguments, Rules, literal_text, template, word
from discreet.query.functions._calls import integer_literal
from discreet.query.functions._registry import refusal
from discreet.query.parse._parse import refuse
from discreet.query.parse._refusals import because
from discreet.query.parse._spellings import each_pattern

__all__ = ["Writer"]

_FRACTIONS = ("whole", "decimal", "float", "fraction")
_MOMENTS = ("date", "timestamp")
_WHOLE_FRAMES = ("FIRST_VALUE", "LAST_VALUE", "NTH_VALUE")
_STATISTICS = ("COUNT", "COUNT_IF", "COUNTIF", "COUNT_BIG", "SUM", "AVG")
_UTC = ("UTC", "Etc/UTC", "GMT")
_NAMED_LIKE_ARGUMENTS = {exp.Substring: "SUBSTRING", exp.StrPosition: "POSITION"}


class Writer:
    """Writes the nodes of one query. Raises `QueryError` for what means something else here, with what to write."""

    def __init__(self, rules: Rules, kinds: Kinds) -> None:
        self._rules, self._kinds = rules, kinds
        self._writers: Mapping[type[exp.Expr], Callable[[Any], exp.Expr]] = {
            exp.Trim: self._trim,
            exp.Div: self._quotient,
            exp.Add: self._sum,
            exp.Sub: self._sum,
            exp.DPipe: self._joined,
            exp.EQ: self._compared,
            exp.NEQ: self._compared,
            exp.Like: self._like,
            exp.ILike: self._like,
            exp.Ordered: self._ordered,
            exp.Window: self._window,
            exp.WithinGroup: self._quantile,
            exp.Table: self._table,
            exp.Column: self._column,
            exp.AtTimeZone: self._zoned,
            exp.Is: self._is,
            exp.Distinct: self._distinct,
            exp.Fetch: self._fetched,
        }

    def write(self, node: exp.Expr) -> exp.Expr:
        """The node as it is here; the one that is given stays as it is."""
        check_node(node, self._rules.title)
        match node:
            case exp.Anonymous():
                return self._function(node.name.upper(), node.expressions, node)
            case exp.Substring() | exp.StrPosition():
                return self._function(_NAMED_LIKE_ARGUMENTS[type(node)], _arguments(node), node)
            case exp.Cast():
                return cast(self.write(node.this), self._kind(node.this), node.to, self._rules)
            case exp.Convert():
                return cast(self.write(node.expression), self._kind(node.expression), node.this, self._rules)
            case exp.Extract():
                return self._part(word(node.this), node.expression, "EXTRACT")
            case exp.If() if not isinstance(node.parent, exp.Case):
                branch = exp.If(this=self.write(node.this), true=self.write(node.args["true"]))
                default = node.args.get("false")
                return exp.Case(ifs=[branch], default=None if default is None else self.write(default))
            case _:
                return self._writers.get(type(node), self._same)(node)

    def _same(self, node: exp.Expr) -> exp.Expr:
        written: dict[str, Any] = {}
        for name in known_parts(node):
            value = node.args.get(name)
            if isinstance(value, list):
                written[name] = [self._value(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
            elif value is not None:
                written[name] = self._value(value)
        return type(node)(**written)

    def _value(self, value: Any) -> Any:
        return self.write(value) if isinstance(value, exp.Expr) else value

    def _kind(self, node: exp.Expr) -> Kind | None:
        return self._kinds.kind(node)

    def _function(self, name: str, nodes: list[exp.Expr], written: exp.Expr) -> exp.Expr:
        rules, count = self._rules, len(nodes)
        if isinstance(written.this, exp.Identifier) and isinstance(written, exp.Anonymous):
            raise QueryError(f"{written.sql()} names a function in quotes; write it without them")
        form = f"{name}/{count}"
        if (
            name in ("DATE_PART", "DATEPART")
            and count == 2
            and ("DATE_PART" in rules.same.split()) <= (name == "DATE_PART")
        ):
            return self._part(word(nodes[0]), nodes[1], name)
        known = form in rules.written or form in rules.built
        if not known and not rules.knows(name, count):
            raise self._unknown(name, count, written)
        arguments = Arguments(
            name,
            tuple(node if _is_word(node) else self.write(node) for node in nodes),
            tuple(self._kind(node) for node in nodes),
            rules.title,
        )
        if form in rules.built:
            return rules.built[form](arguments)
        if form in rules.written:
            return template(rules.written[form], arguments)
        return exp.Anonymous(this=name, expressions=list(arguments.nodes))

    def _unknown(self, name: str, count: int, node: exp.Expr) -> QueryError:
        rules = self._rules
        if name in rules.instead:
            return QueryError(f"{name} in {rules.title} is not supported: {rules.instead[name]}")
        names = {each.partition("/")[0]: each for each in (*rules.written, *rules.built)}
        if name in names or any(each.partition("/")[0] == name for each in rules.same.split()):
            return QueryError(f"{name} with {count} arguments in {rules.title} is not supported; write it with others")
        why = because(node)
        if why is not None:
            return QueryError(f"{name} in {rules.title} is not supported: {why}")
        return refusal(node)

    def _part(self, part: str | None, date: exp.Expr, name: str) -> exp.Expr:
        rules = self._rules
        if part is None or part not in rules.parts:
            what = "; where weeks begin and what counts as the first one differs" if part and "WEEK" in part else ""
            what = "; a second has a fraction there" if part == "SECOND" else what
            raise QueryError(
                f"{name} of {part or 'this part'} in {rules.title} is not supported{what}: write one of "
                f"{', '.join(rules.parts)}"
            )
        return template(rules.parts[part], Arguments(name, (self.write(date),), (self._kind(date),), rules.title))

    def _trim(self, node: exp.Trim) -> exp.Expr:
        characters = node.args.get("expression")
        name = {None: "TRIM", "BOTH": "TRIM", "LEADING": "LTRIM", "TRAILING": "RTRIM"}[node.args.get("position")]
        if characters is None and not self._rules.knows(name, 1):
            raise self._unknown(name, 1, node)
        if characters is not None and literal_text(characters) is None:
            raise QueryError(f"{name} takes a constant as the characters to remove; write them in quotes")
        return exp.Anonymous(this=name, expressions=[self.write(each) for each in (node.this, characters) if each])

    def _quotient(self, node: exp.Div) -> exp.Expr:
        rules, kinds = self._rules, (self._kind(node.this), self._kind(node.expression))
        parts = {"this": self.write(node.this), "expression": self.write(node.expression)}
        if not rules.cuts_quotients or any(kind in _FRACTIONS for kind in kinds):
            return exp.Div(**parts)
        if kinds == ("int", "int") and not any(is_released(each) for each in (node.this, node.expression)):
            return exp.IntDiv(**parts)
        raise QueryError(
            f"{node.sql(comments=False)} in {rules.title} is cut to a whole number if both are whole, as 7 / 2 is 3, "
            "and a statistic is not cut here; write 1.0 * a / b for the quotient, or declare the types in the policy"
        )

    def _sum(self, node: exp.Add | exp.Sub) -> exp.Expr:
        rules, kinds = self._rules, (self._kind(node.this), self._kind(node.expression))
        if isinstance(node.expression, exp.Interval):
            return self._same(node)
        if isinstance(node, exp.Add) and rules.name == "tsql":
            if kinds == ("string", "string"):
                return self._joined(node)
            if "string" in kinds or None in kinds:
                raise QueryError(
                    f"{node.sql(comments=False)} in {rules.title} joins texts and adds numbers, and its types are not "
                    "both known; write CONCAT(s, t), or declare the columns in the policy"
                )
        dates = [kind in _MOMENTS for kind in kinds]
        if isinstance(node, exp.Sub) and all(dates) and not (rules.subtracts_dates and kinds == ("date", "date")):
            raise QueryError(f"the difference of two dates is no number in {rules.title}; write DATEDIFF or DATE_DIFF")
        if isinstance(node, exp.Sub) and None in kinds and dates != [False, False] and not rules.subtracts_dates:
            raise QueryError(f"{node.sql(comments=False)} may be a difference of dates; write DATEDIFF or DATE_DIFF")
        return self._same(node)

    def _distinct(self, node: exp.Distinct) -> exp.Expr:
        if isinstance(node.parent, exp.Anonymous) and len(node.expressions) != 1:  # as sqlglot writes it, it is another
            raise refuse(f"DISTINCT of several values in {self._rules.title}", "DISTINCT")
        return self._same(node)

    def _is(self, node: exp.Is) -> exp.Expr:
        written = exp.Is(this=self.write(node.this), expression=self.write(node.expression))
        return exp.Not(this=written) if node.args.get("negate") else written

    def _fetched(self, node: exp.Fetch) -> exp.Expr:
        count, options = node.args.get("count"), node.args.get("limit_options")
        if options is not None:
            self.write(options)
        return exp.Limit(expression=exp.Literal.number(1) if count is None else self.write(count))

    def _joined(self, node: exp.Binary) -> exp.Expr:
        return exp.DPipe(this=self.write(node.this), expression=self.write(node.expression), safe=True)

    def _compared(self, node: exp.EQ | exp.NEQ) -> exp.Expr:
        sides = [node.this, node.expression]
        for one, other in (sides, sides[::-1]) if self._rules.compares_bits else ():
            bit = integer_literal(other)
            if self._kind(one) == "bool" and bit in (0, 1):
                return type(node)(this=self.write(one), expression=exp.Boolean(this=bool(bit)))
        return self._same(node)

    def _like(self, node: exp.Like | exp.ILike) -> exp.Expr:
        texts = [each.name for each in node.expression.find_all(exp.Literal) if each.is_string]
        if self._rules.escapes and any("\\" in text for text in texts):
            raise QueryError(
                f"a backslash in a pattern of LIKE is an escape in {self._rules.title}; write STRPOS(s, '%') > 0 for a "
                "text that holds % or _"
            )
        if self._rules.name == "tsql" and any("[" in text for text in texts):
            raise QueryError("[ in a pattern of LIKE is a set of characters in T-SQL; write several LIKE with OR")
        written = self._same(node)
        assert isinstance(written, exp.Like | exp.ILike)
        return each_pattern(written) if isinstance(written.expression, exp.Any | exp.All) else written

    def _ordered(self, node: exp.Ordered) -> exp.Expr:
        """Where nulls stand is written out, unless there are none."""
        written = self._same(node)
        if _counted(node.this, node.find_ancestor(exp.Select)):
            written.args["nulls_first"] = False
        return written

    def _window(self, node: exp.Window) -> exp.Expr:
        name = node.this.name.upper() if isinstance(node.this, exp.Anonymous) else ""
        if self._rules.name == "snowflake" and name in _WHOLE_FRAMES and not node.args.get("spec"):
            raise QueryError(
                f"{name} in Snowflake sees all rows of its window, and here those up to the current one; write the "
                "frame, as ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
            )
        return self._same(node)

    def _quantile(self, node: exp.WithinGroup) -> exp.Expr:
        name = node.this.name.upper() if isinstance(node.this, exp.Anonymous) else node.this.sql()
        if name not in ("PERCENTILE_CONT", "PERCENTILE_DISC") or not self._rules.knows(name, 1):
            raise self._unknown(name, 1, node.this)
        order = node.expression.expressions
        if len(node.this.expressions) != 1 or len(order) != 1 or order[0].args.get("desc"):
            raise QueryError(f"{name}(p) has one p and one value, in rising order; write p as 1 - p for a falling one")
        parts = [self.write(order[0].this), self.write(node.this.expressions[0])]
        return exp.Anonymous(this=name.replace("PERCENTILE", "QUANTILE"), expressions=parts)

    def _column(self, node: exp.Column) -> exp.Expr:
        """Without the schema, where the table stands in FROM under its own name, and nothing else does."""
        if self._is_own(node) and not node.args.get("catalog") and _names_a_table(node.root(), node.table):
            node = node.copy()
            node.set("db", None)
        return self._same(node)

    def _zoned(self, node: exp.AtTimeZone) -> exp.Expr:
        """UTC, in which timestamps are here."""
        zone = literal_text(node.args["zone"])
        if self._rules.name != "postgres" or zone not in _UTC or self._kind(node.this) != "timestamp":
            raise QueryError(
                f"AT TIME ZONE in {self._rules.title} is not supported but for AT TIME ZONE 'UTC' of a timestamp: "
                "timestamps here have no zone, and are in UTC"
            )
        return exp.paren(self.write(node.this), copy=False)

    def _is_own(self, node: exp.Table | exp.Column) -> bool:
        """Whether a name is of the schema that holds the tables."""
        schema = node.args.get("db")
        return isinstance(schema, exp.Identifier) and schema.name.casefold() == self._rules.schema

    def _table(self, node: exp.Table) -> exp.Expr:
        root = node.root()
        named = {each.alias.casefold() for each in root.find_all(exp.CTE)}
        if self._is_own(node) and not node.args.get("catalog") and node.name.casefold() not in named:
            node = node.copy()
            node.set("db", None)
        return self._same(node)


def _arguments(node: exp.Expr) -> list[exp.Expr]:
    return [part for name in known_parts(node) if isinstance(part := node.args.get(name), exp.Expr)]


def _names_a_table(root: exp.Expr, name: str) -> bool:
    """Whether a name is a table's without an alias, and no alias of something else."""
    folded = name.casefold()
    bare, others = False, {each.alias.casefold() for each in root.find_all(exp.CTE, exp.Subquery) if each.alias}
    for table in root.find_all(exp.Table):
        if table.name.casefold() == folded and table.alias.casefold() in ("", folded):
            bare = True
        else:
            others.add(table.alias_or_name.casefold())
    return bare and folded not in others


def _is_word(node: exp.Expr) -> bool:
    """WEEK(MONDAY), which is no function."""
    return isinstance(node, exp.Anonymous | exp.WeekStart) and (word(node) or "").startswith("WEEK(")


def _counted(node: exp.Expr, select: exp.Select | None) -> bool:
    """Whether a statistic that is never null is meant, by itself, its place or its alias."""
    inner = node.unnest()
    place = integer_literal(inner)
    if select is not None and place is not None and 1 <= place <= len(select.expressions):
        inner = select.expressions[place - 1]
    elif select is not None and isinstance(inner, exp.Column) and not inner.table:
        named = [each for each in select.expressions if each.alias.casefold() == inner.name.casefold()]
        inner = named[0] if len(named) == 1 else inner
    inner = inner.this.unnest() if isinstance(inner, exp.Alias) else inner
    return isinstance(inner, exp.Anonymous) and inner.name.upper() in _STATISTICS
