"""The catalogue of mechanisms as a page, made from the classes themselves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from discreet.local.examples import examples as schemes
from discreet.mechanisms.examples import Example, examples
from discreet.privacy import in_words
from discreet.query import (
    FUNCTIONS,
    FUNCTIONS_ELSEWHERE,
    PAIRS,
    QUANTILE_NAMES,
    REFUSED,
    RULES,
    STATISTIC_NAMES,
    STATISTICS,
    STATISTICS_ELSEWHERE,
)

__all__ = ["catalogue", "with_tables"]


_HEAD = """# The mechanisms

Made from the docstrings of `discreet.mechanisms` by `make figures`. Every mechanism is exact: what is drawn has the
stated distribution to the last bit, and its loss is the loss of what is drawn. `release` is the raw toolbox and charges
nobody; `Session.release(mechanism, value)` charges the ledger first. `dp.recommend` picks one for a statistic.

"""

_RELATIONS = {"add_remove": "add/remove", "substitute": "substitution"}


def catalogue() -> str:
    """The page ``docs/mechanisms.md``: for each class its statement, relation, constants, source, error and use.

    >>> "## Numbers" in catalogue()
    True
    """
    groups: dict[str, list[Example]] = {}
    for example in examples():
        groups.setdefault(example.group, []).append(example)
    contents = "\n".join(_contents(group, group_examples) for group, group_examples in groups.items())
    sections = "\n".join(
        f"## {group}\n\n" + "\n".join(_section(example) for example in group_examples)
        for group, group_examples in groups.items()
    )
    return f"{_HEAD}| | take | for |\n|---|---|---|\n{contents}\n\n{sections}"


def _contents(group: str, group_examples: list[Example]) -> str:
    return "\n".join(
        f"| {group if i == 0 else ''} | [`{example.name}`](#{example.name.lower()}) | {example.use} |"
        for i, example in enumerate(group_examples)
    )


def _section(example: Example) -> str:
    paragraphs = _paragraphs(example.kind)
    text, source = "\n\n".join(paragraphs[:-1]), paragraphs[-1]
    error = example.expected_error()
    return (
        f"### {example.name}\n\n{text}\n\n| | |\n|---|---|\n"
        f"| choose it for | {_cell(example.use)} |\n"
        f"| neighbours | {_neighbours(example)} |\n"
        f"| costs | {example.costs}; `{example.shown}`: {in_words(example.loss())} |\n"
        f"| expected error | {error} |\n"
        f"| source | {_cell(source)} |\n"
    )


def _neighbours(example: Example) -> str:
    stated = example.loss().relation
    if any(field.name == "relation" for field in fields(example.kind)):
        return "add/remove or substitution, as given"
    if stated is not None:
        return _RELATIONS[stated]
    return example.neighbours


def _paragraphs(kind: Any) -> list[str]:
    """The docstring without its parameters, errors and examples, as Markdown; the source comes last."""
    text = inspect.getdoc(kind) or ""
    paragraphs: list[str] = []
    source = ""
    for paragraph in text.split("\n\n"):
        if paragraph.startswith((">>>", "Parameters\n", "Attributes\n")):
            continue
        body, *cited = re.split(r"\bSources?: ", paragraph)
        if cited:
            source = _markdown(cited[0].rstrip("."))
        if body.startswith("="):
            paragraphs.append(f"```\n{body}\n```")
        elif plain := re.sub(r"(^|(?<=\. )|(?<=\.\n))Raises\b.*", "", body, flags=re.DOTALL).strip():
            paragraphs.append(_markdown(plain))
    return [*paragraphs, source]


def _markdown(text: str) -> str:
    joined = re.sub(r"\s*\n\s*", " ", text)
    joined = re.sub(r"``proofs/([\w.]+)``", r"[proofs/\1](../proofs/\1)", joined)
    return joined.replace("``", "`")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


_QUANTILES = (
    ("MEDIAN(x)", "a quantile, drawn from the counts of a public grid"),
    (
        "QUANTILE_CONT(x, p)",
        f"also {', '.join(QUANTILE_NAMES[4:])}; PERCENTILE_CONT(p) WITHIN GROUP (ORDER BY x); several p as a list",
    ),
    ("MIN(x), MAX(x)", "the 1 % and the 99 % quantiles"),
    ("MODE(x)", "one of the public values of x, drawn by their counts; also MODE() WITHIN GROUP (ORDER BY x)"),
)


def with_tables(page: str) -> str:
    """The page with its tables of statistics, functions, spellings, refusals and local schemes made anew.

    A page without them stays as it is.

    >>> "| `ABS(x)` |" in with_tables("<!-- functions --><!-- end -->")
    True
    """
    tables = {
        "statistics": _statistics,
        "functions": _functions,
        "spellings": _spellings,
        "dialects": _dialects,
        "refused": _refused,
        "schemes": _schemes,
    }
    return re.sub(
        rf"<!-- ({'|'.join(tables)}) -->.*?<!-- end -->",
        lambda match: f"<!-- {match[1]} -->\n{tables[match[1]]()}\n<!-- end -->",
        page,
        flags=re.DOTALL,
    )


def _dialects() -> str:
    rows = [
        (
            rules.title,
            f"`{rules.shared}`",
            ", ".join(f"`{there}` is `{here}`" for there, here in rules.shown),
            f"`{rules.checked}`",
        )
        for rules in RULES.values()
    ]
    return _table(("dialect", "the same", "something else", "the same for some arguments, else refused"), rows)


def _schemes() -> str:
    rows = [
        (example.name, example.group, example.use, f"`{example.shown}`", _bytes(example.at(1).layout.width))
        for example in schemes()
    ]
    return _table(("scheme", "is asked for", "choose it for", "for example", "a report"), rows)


def _bytes(width: int) -> str:
    return "1 byte" if width == 1 else f"{width} bytes"


def _statistics() -> str:
    rows = [("COUNT(*)", "rows that count"), ("COUNT(DISTINCT x)", _DISTINCT)]
    for name in dict.fromkeys(STATISTICS.values()):
        if name in PAIRS:
            does, signature = "over rows where neither is null, from " + _moments(PAIRS[name]), f"{name}(y, x)"
        else:
            does = _ALONE.get(name, "from the count, the sum and the sum of squares")
            signature = f"{name}({'a' if name == 'COUNT_IF' else 'x'})"
        names = (
            *(other for other, kind in STATISTIC_NAMES.items() if kind == name),
            *(other for other, kind in STATISTICS_ELSEWHERE.items() if kind == name),
        )
        rows.append((signature, does + _also(names, signature)))
    return _table(("statistic", "is"), [*rows, *_QUANTILES])


_DISTINCT = "distinct values; of the person's column, people; also " + ", ".join(
    other for other, kind in STATISTICS_ELSEWHERE.items() if kind == "COUNT(DISTINCT x)"
)
_ALONE = {
    "COUNT": "rows where x is not null",
    "COUNT_IF": "rows that satisfy a; any statistic takes FILTER (WHERE a)",
    "SUM": "an exact sum on the grid of x",
    "AVG": "a sum about the middle of the bounds, by a count",
}


def _moments(needs: str) -> str:
    """What an aggregate of pairs is read off, from its entry in `PAIRS`."""
    sums = [axis for axis in "xy" if axis in needs]
    sums += ["·".join(pair) for pair in needs.split() if len(pair) > 1]
    return f"the count and the sums of {', '.join(sums)}" if sums else "the count"


def _functions() -> str:
    rows = [
        (each.signature, each.does + _also(each.names, each.signature), each.bounds, each.nulls) for each in FUNCTIONS
    ]
    return _table(("function", "is", "bounds", "null"), rows)


def _spellings() -> str:
    rows = [(written, f"`{here}`") for written, here in FUNCTIONS_ELSEWHERE.items()]
    return _table(("elsewhere", "here"), rows)


def _refused() -> str:
    lines = ["| refused | because, and what to ask instead |", "|---|---|"]
    return "\n".join([*lines, *(f"| {each.written} | {each.why} |".replace("*", "\\*") for each in REFUSED)])


def _also(names: tuple[str, ...], signature: str) -> str:
    """The names beside the one in the signature; operators are looked for anywhere in it."""
    words = re.findall(r"\w+", signature)
    others = [name for name in names if not (name in words if name.isidentifier() else name in signature)]
    return f"; also {', '.join(others)}" if others else ""


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for first, *rest in rows:
        cells = (f"`{first}`".replace("|", "\\|"), *(cell.replace("|", "\\|") for cell in rest))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
