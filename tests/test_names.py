"""Names are words of the field: the ones that say nothing, or that only this project would use, are not used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import discreet

HOUSE = Path(discreet.__file__).parent
BANNED = frozenset(
    "found told said says of about kept made whole odds story glance birth trouble suits lift earned".split()  # noqa: SIM905
)
"""Not the name of a variable, a parameter, a field, a function, a class or a module."""
BANNED_PARTS = frozenset({"told", "said", "says", "odds", "story", "glance", "birth", "suits", "lift", "earned"})
"""Not a part of such a name either."""
ALLOWED = {
    "log_odds": "the field's own term",
}
"""With a reason each."""
ALLOWED_IN = {
    ("learn/training/_private.py", "about"): "about=6_000 reads as what it is, a public guess of a number",
}
"""In one file alone, with a reason each."""


def bound(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every name that a module gives to something, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.alias(asname=str(name)):
                yield node.lineno, name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node.lineno, name
            case _:
                pass


@cache
def names_of(path: Path) -> list[tuple[int, str]]:
    return list(bound(ast.parse(path.read_text(encoding="utf-8"))))


def is_banned(name: str) -> bool:
    plain = name.strip("_").lower()
    return plain not in ALLOWED and (plain in BANNED or not BANNED_PARTS.isdisjoint(plain.split("_")))


@pytest.mark.parametrize(
    "source",
    [
        "found = 1", "def _told(): ...", "def f(of): ...", "for kept in x: ...", "import x as odds", "lambda about: 1",
        "class Story: ...", "self.whole = 1", "mechanism_earned: int", "match x:\n    case [y, *said]: ...",
        "with f() as made: ...", "(said := 1)",
    ],
)  # fmt: skip
def test_the_search_finds_a_banned_name(source: str) -> None:
    assert any(is_banned(name) for _, name in bound(ast.parse(source)))


@pytest.mark.parametrize("source", ["x = found", "founded = 1", "log_odds = 2", "def of_rows(): ...", "x.told()"])
def test_the_search_finds_no_other(source: str) -> None:
    assert not any(is_banned(name) for _, name in bound(ast.parse(source)))


def test_no_name_is_banned() -> None:
    names = [
        f"{path.relative_to(HOUSE)}:{line}: {name}"
        for path in sorted(HOUSE.rglob("*.py"))
        for line, name in [(0, path.stem), *names_of(path)]
        if is_banned(name) and (path.relative_to(HOUSE).as_posix(), name) not in ALLOWED_IN
    ]
    assert names == []


def test_every_allowance_is_used() -> None:
    used = {name for path in HOUSE.rglob("*.py") for _, name in names_of(path)}
    assert {name.strip("_").lower() for name in used} >= ALLOWED.keys()
    for file, allowed in ALLOWED_IN:
        assert allowed in {name for _, name in names_of(HOUSE / file)}
