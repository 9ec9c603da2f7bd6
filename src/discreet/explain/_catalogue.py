"""The catalogue of mechanisms as a page, made from the classes themselves."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from typing import Any

from discreet.explain._choices import CHOICES, Choice
from discreet.privacy import in_words

__all__ = ["catalogue"]

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
    groups: dict[str, list[Choice]] = {}
    for choice in CHOICES:
        groups.setdefault(choice.group, []).append(choice)
    contents = "\n".join(_contents(group, choices) for group, choices in groups.items())
    sections = "\n".join(
        f"## {group}\n\n" + "\n".join(_section(choice) for choice in choices) for group, choices in groups.items()
    )
    return f"{_HEAD}| | take | for |\n|---|---|---|\n{contents}\n\n{sections}"


def _contents(group: str, choices: list[Choice]) -> str:
    return "\n".join(
        f"| {group if i == 0 else ''} | [`{choice.name}`](#{choice.name.lower()}) | {choice.use} |"
        for i, choice in enumerate(choices)
    )


def _section(choice: Choice) -> str:
    paragraphs = _paragraphs(choice.kind)
    told, source = "\n\n".join(paragraphs[:-1]), paragraphs[-1]
    error = choice.error()
    return (
        f"### {choice.name}\n\n{told}\n\n| | |\n|---|---|\n"
        f"| choose it for | {_cell(choice.use)} |\n"
        f"| neighbours | {_neighbours(choice)} |\n"
        f"| costs | {choice.costs}; `{choice.shown}`: {in_words(choice.loss())} |\n"
        f"| expected error | {error} |\n"
        f"| source | {_cell(source)} |\n"
    )


def _neighbours(choice: Choice) -> str:
    stated = choice.loss().relation
    if any(field.name == "relation" for field in fields(choice.kind)):
        return "add/remove or substitution, as given"
    if stated is not None:
        return _RELATIONS[stated]
    return choice.neighbours


def _paragraphs(kind: Any) -> list[str]:
    """The docstring without its parameters, errors and examples, as Markdown; the source comes last."""
    text = inspect.getdoc(kind) or ""
    told: list[str] = []
    source = ""
    for paragraph in text.split("\n\n"):
        if paragraph.startswith((">>>", "Parameters\n", "Attributes\n")):
            continue
        said, *cited = re.split(r"\bSources?: ", paragraph)
        if cited:
            source = _markdown(cited[0].rstrip("."))
        if said.startswith("="):
            told.append(f"```\n{said}\n```")
        elif kept := re.sub(r"(^|(?<=\. )|(?<=\.\n))Raises\b.*", "", said, flags=re.DOTALL).strip():
            told.append(_markdown(kept))
    return [*told, source]


def _markdown(text: str) -> str:
    joined = re.sub(r"\s*\n\s*", " ", text)
    joined = re.sub(r"``proofs/([\w.]+)``", r"[proofs/\1](../proofs/\1)", joined)
    return joined.replace("``", "`")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
