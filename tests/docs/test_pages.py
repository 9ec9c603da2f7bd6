"""Every page runs, top to bottom, in a directory of its own, as `pages.py` says.

Where a page names RAND_URL, that is a PostgreSQL database with the visits of the demo.
A page finds ``data/`` beside it, and may write ``images/``; the committed ones are drawn anew by ``make figures``.
"""

from __future__ import annotations

import ast
import builtins
import os
import re
import shlex
import subprocess
import symtable
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages import FENCE, blocks, commands, printed, run_page

from discreet.datasets import rand

ROOT = Path(__file__).parents[2]
WARM = Path(__file__).with_name("warm.py")
README = ROOT / "README.md"
PAGES = [README, ROOT / "README.zh.md", *sorted((ROOT / "docs").glob("**/*.md"))]
CHINESE = {page: page.with_name(page.name.replace(".zh.md", ".md")) for page in PAGES if page.name.endswith(".zh.md")}
RUN = [page for page in PAGES if page not in CHINESE]  # their blocks are those of the English, as a test below says
URL = "RAND_URL"


def test_commands_continue_over_lines() -> None:
    text = "$ one \\\n    two\nout\n$ three\n"
    assert commands(text) == ["one      two", "three"]
    assert printed(text) == "out\n"


@pytest.fixture(scope="session")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """An environment where `discreet` and `python` are those of this run, installed or not."""
    home, source = tmp_path_factory.mktemp("bin"), str(ROOT / "src")
    plain = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "TTY_COMPATIBLE")}
    plain |= {"PATH": f"{home}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": source, "COLUMNS": "100"}
    with tempfile.TemporaryDirectory() as short:  # the path of a socket has some hundred bytes at most
        socket = f"{short}/s"
        for name, arguments in (("discreet", ["-I", "-S", str(WARM), "ask", socket]), ("python", [])):
            script = home / name
            script.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, *arguments])} "$@"\n')
            script.chmod(0o755)
        serve = [sys.executable, str(WARM), "serve", socket]
        with subprocess.Popen(serve, env=plain, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None and server.stdout.readline() == "ready\n"
            yield plain
            server.terminate()


def _asks(page: Path) -> list[pytest.MarkDecorator]:
    """The servers that a page talks to; Spark's is there before, so that the page need not start it."""
    text = page.read_text(encoding="utf-8")
    return [getattr(pytest.mark, name) for name, word in (("spark", "pyspark"), ("postgres", URL)) if word in text]


@pytest.mark.parametrize("page", [pytest.param(p, marks=_asks(p), id=p.relative_to(ROOT).as_posix()) for p in RUN])
def test_page_runs(
    page: Path,
    shell: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = {mark.name for mark in request.node.iter_markers()}
    if "postgres" in asked:
        monkeypatch.setenv(URL, request.getfixturevalue("rand_url"))
    if "spark" in asked:
        request.getfixturevalue("spark")
    (tmp_path / "images").mkdir()
    if (page.parent / "data").is_dir():
        (tmp_path / "data").symlink_to(page.parent / "data")
    run_page(page, blocks(page), {**shell, URL: os.environ.get(URL, "")})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", prose)]
    missing = [t for t in targets if t and "://" not in t and not (page.parent / t).exists()]
    assert missing == []


def test_the_readme_sets_up_in_two_commands() -> None:
    text = README.read_text(encoding="utf-8")
    made = [command for block in blocks(README) for command in commands(block.text) if "make" in command]
    assert made == ["make demo", "make test"]
    assert text.count("$ make") == 2


def names_bound(table: symtable.SymbolTable) -> set[str]:
    return {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}


def test_each_block_of_the_readme_is_complete_by_itself() -> None:
    for block in blocks(README):
        if block.language == "python":
            table = symtable.symtable(block.text, f"README.md:{block.line}", "exec")
            free = {
                symbol.get_name()
                for scope in [table, *table.get_children()]
                for symbol in scope.get_symbols()
                if symbol.is_global() and symbol.is_referenced()
            }
            bound = {
                symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()
            }
            assert free - bound - set(dir(builtins)) == set(), block.line


def test_the_readme_shows_the_policy_of_its_table() -> None:
    (shown,) = [block.text for block in blocks(README) if block.language == "toml"]
    assert shown == rand.policy.read_text(encoding="utf-8")


def test_chinese_pages() -> None:
    assert [page.name for page in CHINESE] == ["README.zh.md", "why-dp.zh.md"]


@pytest.mark.parametrize("page", CHINESE, ids=lambda page: page.name)
def test_a_chinese_page_has_the_same_blocks(page: Path) -> None:
    """The same programs, commands and outputs; comments are in Chinese."""
    english, chinese = blocks(CHINESE[page]), blocks(page)
    assert [(block.language, block.flags) for block in chinese] == [(block.language, block.flags) for block in english]
    for ours, theirs in zip(english, chinese, strict=True):
        match ours.language:
            case "python":
                assert ast.dump(ast.parse(theirs.text)) == ast.dump(ast.parse(ours.text)), theirs.line
            case "toml":
                assert tomllib.loads(theirs.text) == tomllib.loads(ours.text), theirs.line
            case _:
                assert theirs.text == ours.text, theirs.line


@pytest.mark.parametrize("page", CHINESE, ids=lambda page: page.name)
def test_a_chinese_page_is_as_complete(page: Path) -> None:
    """As many headings, rows of tables and items of lists, and the same links."""
    english, chinese = (FENCE.sub("", each.read_text(encoding="utf-8")) for each in (CHINESE[page], page))
    for pattern in (r"^#+ ", r"^\|", r"^- "):
        assert len(re.findall(pattern, chinese, re.MULTILINE)) == len(re.findall(pattern, english, re.MULTILINE)), (
            pattern
        )
    links = [sorted(re.findall(r"\]\(([^)\s]+)\)", text)) for text in (english, chinese)]
    assert links[1] == sorted({page.name: CHINESE[page].name}.get(link, link) for link in links[0])
