"""What a public module defines is what its `__all__` says: no more, no less, and in order."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import discreet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType


def public_modules() -> list[str]:
    """Those without an underscore, but for rooms inside a package, whose `__init__` is a docstring alone."""
    names = [info.name for info in pkgutil.walk_packages(discreet.__path__, "discreet.")]
    public = [name for name in names if not any(part.startswith("_") for part in name.split("."))]
    return ["discreet", *(name for name in public if not is_room(name))]


def is_room(name: str) -> bool:
    origin = find_spec(name)
    assert origin is not None and origin.origin is not None
    return len(ast.parse(Path(origin.origin).read_text(encoding="utf-8")).body) == 1


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run at import, also those under `if` and `try`, but not under `if TYPE_CHECKING`."""
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from statements(node.orelse)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            for field in ("body", "handlers", "orelse", "finalbody"):
                for inner in getattr(node, field, []):
                    yield from statements(inner.body if isinstance(inner, ast.ExceptHandler) else [inner])
        else:
            yield node


def targets(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Tuple | ast.List):
        for element in node.elts:
            yield from targets(element)


def defined(module: ModuleType) -> set[str]:
    """The public names that a module's own source binds; a package also re-exports what it imports from within."""
    source = Path(str(module.__file__))
    names: set[str] = set()
    for node in statements(ast.parse(source.read_text(encoding="utf-8")).body):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=assigned):
                names.update(name for target in assigned for name in targets(target))
            case ast.AnnAssign(target=target, value=value) if value is not None:
                names.update(targets(target))
            case ast.ImportFrom(module=origin, names=imported) if source.stem == "__init__" and origin:
                if origin == module.__name__ or origin.startswith(f"{module.__name__}."):
                    names.update(alias.asname or alias.name for alias in imported)
            case _:
                pass
    return {name for name in names if not name.startswith("_")}


def in_order(name: str) -> tuple[int, str]:
    """Ruff's order (RUF022), so that the two never quarrel: constants, then classes, then the rest."""
    kind = 0 if len(name) > 1 and name.isupper() else 1 if name[0].isupper() else 2
    return kind, name


@pytest.mark.parametrize("name", public_modules())
def test_all_equals_the_names_defined(name: str) -> None:
    module = importlib.import_module(name)
    exported = getattr(module, "__all__", None)
    assert exported is not None, f"{name} has no __all__"
    assert list(exported) == sorted(set(exported), key=in_order), f"{name}.__all__ is not in order, or repeats a name"
    for each in exported:
        assert hasattr(module, each), f"{name}.__all__ names {each}, which is not there"
    public = {each for each in exported if not each.startswith("_")}
    if "__getattr__" in vars(module):  # lazy (PEP 562): the source binds only part of the names, `dir` lists them all
        assert defined(module) <= public
        assert {each for each in dir(module) if not each.startswith("_")} == public
    else:
        assert defined(module) == public
