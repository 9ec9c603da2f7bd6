"""Runs the Python of the pages that save plots, here, so that what they show is drawn anew."""

from __future__ import annotations

import re
from pathlib import Path

FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> None:
    for page in sorted(Path().glob("*.md")):
        blocks = FENCE.findall(page.read_text(encoding="utf-8"))
        if any("images/" in block for block in blocks):
            names: dict[str, object] = {"__name__": page.stem}
            for block in blocks:
                exec(compile(block, page.name, "exec"), names)


if __name__ == "__main__":
    main()
