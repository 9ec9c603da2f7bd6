"""The house rules that no linter holds: small files, honest names, a light import, one door to randomness."""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import grimp
import pytest

import discreet

HOUSE = Path(discreet.__file__).parent
SOURCES = sorted(HOUSE.rglob("*.py"))
DRAWERS = {"common", "helper", "helpers", "misc", "util", "utils"}
HEAVY = {
    "duckdb",
    "ibis",
    "pandas",
    "polars",
    "pyarrow",
    "pydantic",
    "rich",
    "scipy.stats",
    "sqlalchemy",
    "sqlglot",
    "statsmodels",
    "typer",
}
RANDOMNESS = {
    "numpy.random",
    "os.getrandom",
    "os.urandom",
    "random",
    "scipy.stats",
    "secrets",
    "ssl.RAND_bytes",
    "uuid.uuid1",
    "uuid.uuid4",
}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def names_in(path: Path) -> frozenset[str]:
    return frozenset(dotted(tree_of(path)))


def local(path: Path) -> str:
    return path.relative_to(HOUSE).as_posix()


def dotted(tree: ast.Module) -> set[str]:
    """Every dotted name that a module imports or reaches through an import, under its full name.

    >>> sorted(dotted(ast.parse("import numpy as np; np.random.default_rng()")))
    ['numpy', 'numpy.random', 'numpy.random.default_rng']
    """
    bound: dict[str, str] = {}
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.add(alias.name)
                bound[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                found |= {node.module, f"{node.module}.{alias.name}"}
    for node in ast.walk(tree):
        parts: list[str] = []
        reached: ast.expr | None = node if isinstance(node, ast.Attribute) else None
        while isinstance(reached, ast.Attribute):
            parts.append(reached.attr)
            reached = reached.value
        if isinstance(reached, ast.Name) and reached.id in bound:
            found.add(".".join([bound[reached.id], *reversed(parts)]))
    return found


def touches(names: Iterable[str], forbidden: set[str]) -> set[str]:
    return {name for name in names for each in forbidden if name == each or name.startswith(f"{each}.")}


@pytest.mark.parametrize(
    "source",
    [
        "import random",
        "import random as r",
        "from random import random",
        "import numpy.random",
        "from numpy import random as nr",
        "import numpy as np\nnp.random.default_rng(1)",
        "from numpy.random import default_rng",
        "def f():\n    import os\n    return os.urandom(8)",
        "from os import urandom",
        "import uuid\nuuid.uuid4().hex",
        "import secrets",
        "import scipy\nscipy.stats.norm.rvs(1)",
    ],
)
def test_the_search_for_randomness_finds_it(source: str) -> None:
    assert touches(dotted(ast.parse(source)), RANDOMNESS)


@pytest.mark.parametrize("source", ["import randomised", "from discreet.noise import random_bits", "x.random()"])
def test_the_search_for_randomness_finds_nothing_else(source: str) -> None:
    assert not touches(dotted(ast.parse(source)), RANDOMNESS)


def test_files_are_rooms_of_a_comfortable_size() -> None:
    lengths = {local(path): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {path: length for path, length in lengths.items() if length > 600} == {}
    modules = [length for path, length in lengths.items() if not path.endswith("__init__.py")]
    assert statistics.median(modules) > 130


def circles(imports: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Modules that import one another, however far around.

    >>> circles({"a": ["b"], "b": ["c"], "c": ["b"], "d": ["a"]})
    [['b', 'c']]
    """
    reached: dict[str, set[str]] = {}
    for module in imports:
        seen, todo = set[str](), [module]
        while todo:
            new = set(imports[todo.pop()]) - seen
            seen |= new
            todo += new
        reached[module] = seen
    rings = {tuple(sorted(b for b in seen if a in reached[b])) for a, seen in reached.items() if a in seen}
    return [list(ring) for ring in sorted(rings)]


def test_there_is_no_import_circle() -> None:
    """Imports inside functions and under `TYPE_CHECKING` count too."""
    graph = grimp.build_graph("discreet", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 400 and circles(imports) == []


def test_no_package_has_more_than_20_modules() -> None:
    packages = Counter(path.parent for path in SOURCES)
    assert {local(package): count for package, count in packages.items() if count > 20} == {}


def test_no_module_is_a_drawer_for_odds_and_ends() -> None:
    modules = [path.relative_to(HOUSE).with_suffix("") for path in SOURCES]
    assert [str(module) for module in modules if DRAWERS & {part.strip("_") for part in module.parts}] == []


def test_only_noise_draws_random_numbers() -> None:
    found = {local(path): touches(names_in(path), RANDOMNESS - {"scipy.stats"}) for path in SOURCES}
    assert {path: names for path, names in found.items() if names and not path.startswith("noise/")} == {}


def test_scipy_stats_is_never_imported() -> None:
    found = {local(path): touches(names_in(path), {"scipy.stats"}) for path in SOURCES}
    assert {path: names for path, names in found.items() if names} == {}


def narrows(test: ast.expr) -> bool:
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return all(narrows(value) for value in values)
        case ast.Compare(ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return True
        case ast.Call(func=ast.Name(id="isinstance" | "callable")):
            return True
        case _:
            return False


def test_an_assert_only_narrows_a_type() -> None:
    # Under `python -O` it is gone, so a check that privacy rests on must raise.
    found = {
        f"{local(path)}:{node.lineno}"
        for path in SOURCES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Assert) and not narrows(node.test)
    }
    assert found == set()


def test_import_discreet_loads_nothing_heavy() -> None:
    # Unlike in the rest of the suite, the modules loaded by pytest and its plugins must not count.
    script = "import sys, discreet; print(*sys.modules, sep='\\n')"
    loaded = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert HEAVY & set(loaded.stdout.split()) == set()


def test_front_ends_use_public_names_alone() -> None:
    private = {
        f"{local(path)}: {name}"
        for path in SOURCES
        if local(path).split("/")[0] in {"cli", "explain", "server"}
        for name in names_in(path)
        if name.startswith("discreet.")
        and name.split(".")[1] != local(path).split("/")[0]
        and any(part.startswith("_") and not part.startswith("__") for part in name.split(".")[2:])
    }
    assert private == set()
