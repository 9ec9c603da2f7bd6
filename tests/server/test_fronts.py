"""The fronts of the desk translate: none of them imports the ledger, an engine or a session."""

from __future__ import annotations

import ast
from pathlib import Path

import discreet.server

SERVER = Path(discreet.server.__file__).parent
BEHIND_THE_DESK = ("discreet.ledger", "discreet.engines", "discreet.session", "discreet.noise", "discreet.combined")


def imported(file: Path) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            modules |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return modules


def test_no_front_imports_what_is_behind_the_desk() -> None:
    files = [file for folder in ("http", "postgres") for file in (SERVER / folder).rglob("*.py")]
    assert len(files) > 10
    for file in files:
        behind = {each for each in imported(file) if each.startswith(BEHIND_THE_DESK)}
        assert behind == set(), f"{file} imports {behind}"


def test_fronts_import_the_desk_by_its_surface_alone() -> None:
    for folder in ("http", "postgres"):
        for file in (SERVER / folder).rglob("*.py"):
            inside = {each for each in imported(file) if each.startswith("discreet.server.desk._")}
            assert inside == set(), f"{file} imports {inside}"
