"""Writes mechanisms.md and the tables of sql.md, and runs the Python of the pages that save plots: all is made anew."""

from __future__ import annotations

import re
from pathlib import Path

from discreet.explain import catalogue, sql_page

FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> None:
    Path("mechanisms.md").write_text(catalogue(), encoding="utf-8")
    sql = Path("sql.md")
    sql.write_text(sql_page(sql.read_text(encoding="utf-8")), encoding="utf-8")
    for page in sorted(Path().glob("*.md")):
        blocks = FENCE.findall(page.read_text(encoding="utf-8"))
        if any("images/" in block for block in blocks):
            names: dict[str, object] = {"__name__": page.stem}
            for block in blocks:
                exec(compile(block, page.name, "exec"), names)


if __name__ == "__main__":
    main()
