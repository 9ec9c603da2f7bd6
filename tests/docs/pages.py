"""Pages as lists of blocks, and how a block is run; as a program, for an interpreter that has `discreet` but no tests.

- ```python blocks of a page share one namespace; one with ``>>>`` is a doctest.
- ```toml blocks must parse; one that begins with ``# NAME.toml`` is also written to that file.
- ```console blocks: lines after ``$ `` run in a shell that has `discreet`, and must exit with 0, or the last of them
  with the code of ``exit=N`` on the fence. What they print is compared where the fence says ``exact``; ``…`` there
  stands for any text.
- ```json blocks must parse. Other blocks are for people.

``pages.py PAGE PATTERN`` runs a page in the working directory, without the blocks in which the pattern is.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


def is_like(text: str, pattern: str) -> bool:
    """Whether a text is the pattern, where ``…`` stands for any text within a line.

    >>> is_like("error: /home/ada/a.ledger is there", "error: …a.ledger is there"), is_like("ab", "…c")
    (True, False)
    """
    return re.fullmatch(".*".join(map(re.escape, pattern.split("…"))), text) is not None


def run_page(page: Path, chosen: Iterable[Block], shell: Mapping[str, str]) -> None:
    """Run some blocks of a page, top to bottom, in the working directory; commands have `shell` for environment."""
    names: dict[str, Any] = {"__name__": "page"}
    for block in chosen:
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
                run_console(block, where, shell)
            case _:
                pass


def run_python(block: Block, where: str, names: dict[str, Any]) -> None:
    if ">>>" not in block.text:
        exec(compile(block.text, where, "exec", dont_inherit=True), names)
        return
    test = doctest.DocTestParser().get_doctest(block.text, names, where, where, 0)
    report: list[str] = []
    failed = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append, clear_globs=False).failed
    assert not failed, "".join(report)


def run_console(block: Block, where: str, shell: Mapping[str, str]) -> None:
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
        wanted_text = "\n".join(squeezed(printed(block.text)))
        assert is_like("\n".join(squeezed(output)), wanted_text), f"{where}:\n{output}"


if __name__ == "__main__":
    _page, _without = Path(sys.argv[1]), re.compile(sys.argv[2])
    run_page(_page, [block for block in blocks(_page) if not _without.search(block.text)], os.environ)
