"""Writes mechanisms.md and the tables of other pages, and draws all plots anew, by the pages' own Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from discreet.explain import catalogue, with_tables

FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> None:
    os.chdir(Path(__file__).parent)
    Path("mechanisms.md").write_text(catalogue(), encoding="utf-8")
    for page in sorted(each for each in Path().glob("*.md") if not each.name.endswith(".zh.md")):
        page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
        blocks = FENCE.findall(page.read_text(encoding="utf-8"))
        if any("images/" in block for block in blocks):
            names: dict[str, object] = {"__name__": page.stem}
            for block in blocks:
                exec(compile(block, page.name, "exec"), names)
    draw_readme()
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder, "phones")
        subprocess.run([sys.executable, "../examples/phones", "--keep", str(kept)], check=True)
        for question in ("emoji", "words"):
            shutil.copyfile(kept / f"{question}.svg", f"images/phones-{question}.svg")


def draw_readme() -> None:
    """The README's picture, by the one block of it that draws."""
    (block,) = [block for block in FENCE.findall(Path("../README.md").read_text(encoding="utf-8")) if ".plot(" in block]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", block], cwd=folder, check=True)
        shutil.copyfile(Path(folder, "answer.svg"), "images/answer.svg")


if __name__ == "__main__":
    main()
