"""Every page runs, top to bottom, in a directory of its own.

- ```python blocks of a page share one namespace; one with ``>>>`` is a doctest.
- ```toml blocks must parse; one that begins with ``# NAME.toml`` is also written to that file.
- ```console blocks: lines after ``$ `` run in a shell that has `discreet`, and must exit with 0, or the last of them
  with the code of ``exit=N`` on the fence. What they print is compared where the fence says ``exact``.
- ```json blocks must parse. Other blocks are for people.

Where a page names RAND_URL, that is a PostgreSQL database with the visits of the demo.
A page finds ``data/`` beside it, and may write ``images/``; the committed ones are drawn anew by ``make figures``.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

from discreet.cli._demo_data import find_data

ROOT = Path(__file__).parents[2]
WARM = Path(__file__).with_name("warm.py")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
URL = "RAND_URL"
FENCE = re.compile(r"^```(\S*)([^\n]*)\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    flags: tuple[str, ...]
    text: str
    line: int

    @property
    def exit_code(self) -> int:
        return next((int(flag.removeprefix("exit=")) for flag in self.flags if flag.startswith("exit=")), 0)


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(match[1], tuple(match[2].split()), match[3], text.count("\n", 0, match.start()) + 1)
        for match in FENCE.finditer(text)
    ]


def commands(text: str) -> list[str]:
    """What follows each `$ `, with its continuation lines."""
    return [match[1].replace("\\\n", " ") for match in re.finditer(r"^\$ ((?:.*\\\n)*.*)$", text, re.MULTILINE)]


def printed(text: str) -> str:
    """What a console block shows beside its commands."""
    return re.sub(r"^\$ (?:.*\\\n)*.*\n", "", text, flags=re.MULTILINE)


def squeezed(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines() if line.strip()]


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


@pytest.fixture(scope="session")
def rand_url(postgres: str, load_postgres: Callable[..., dict[str, str]]) -> str:
    """The URL of a PostgreSQL database with the visits of the demo."""
    table = pa.csv.read_csv(find_data()).select(["zper", "coins", "outpdol", "mdvis"])
    schema = load_postgres({"visits": table})["visits"].partition(".")[0]
    return f"{postgres}&options=-csearch_path%3D{schema}"


def _asks(page: Path) -> list[pytest.MarkDecorator]:
    """The servers that a page talks to; Spark's is there before, so that the page need not start it."""
    text = page.read_text(encoding="utf-8")
    return [getattr(pytest.mark, name) for name, word in (("spark", "pyspark"), ("postgres", URL)) if word in text]


@pytest.mark.parametrize("page", [pytest.param(p, marks=_asks(p), id=p.relative_to(ROOT).as_posix()) for p in PAGES])
def test_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.chdir(tmp_path)
    asked = {mark.name for mark in request.node.iter_markers()}
    if "postgres" in asked:
        monkeypatch.setenv(URL, request.getfixturevalue("rand_url"))
    if "spark" in asked:
        request.getfixturevalue("spark")
    (tmp_path / "images").mkdir()
    if (page.parent / "data").is_dir():
        (tmp_path / "data").symlink_to(page.parent / "data")
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks(page):
        where = f"{page.name}:{block.line}"
        match block.language:
            case "python":
                run_python(block, where, names)
            case "toml":
                tomllib.loads(block.text)
                if name := re.match(r"# ([\w.-]+\.toml)\b", block.text):
                    Path(name[1]).write_text(block.text, encoding="utf-8")
            case "json":
                json.loads(block.text)
            case "console":
                run_console(block, where, {**request.getfixturevalue("shell"), URL: os.environ.get(URL, "")})
            case _:
                pass


def run_python(block: Block, where: str, names: dict[str, Any]) -> None:
    if ">>>" not in block.text:
        exec(compile(block.text, where, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block.text, names, where, where, 0)
    report: list[str] = []
    failed = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append, clear_globs=False).failed
    assert not failed, "".join(report)


def run_console(block: Block, where: str, shell: dict[str, str]) -> None:
    wanted = commands(block.text)
    assert wanted, f"{where}: a console block without a command"
    output = ""
    for i, command in enumerate(wanted):
        if re.match(r"make\b", command):  # CI runs these itself
            continue
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            env=shell,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        expected = block.exit_code if i == len(wanted) - 1 else 0
        assert done.returncode == expected, f"{where}: {command}\n{done.stdout}"
        assert "Traceback" not in done.stdout, f"{where}: {command}\n{done.stdout}"
        output += done.stdout
    if "exact" in block.flags:
        assert squeezed(output) == squeezed(printed(block.text)), where


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", prose)]
    missing = [t for t in targets if t and "://" not in t and not (page.parent / t).exists()]
    assert missing == []


def test_the_readme_sets_up_in_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    made = [command for block in blocks(ROOT / "README.md") for command in commands(block.text) if "make" in command]
    assert made == ["make demo", "make test"]
    assert text.count("$ make") == 2
