"""Writes mechanisms.md, and runs the Python of the pages that save plots, so that what they show is drawn anew."""

from __future__ import annotations

import re
from pathlib import Path

from discreet.explain import catalogue

FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> None:
    Path("mechanisms.md").write_text(catalogue(), encoding="utf-8")
    for page in sorted(Path().glob("*.md")):
        blocks = FENCE.findall(page.read_text(encoding="utf-8"))
        if any("images/" in block for block in blocks):
            names: dict[str, object] = {"__name__": page.stem}
            for block in blocks:
                exec(compile(block, page.name, "exec"), names)


if __name__ == "__main__":
    main()
