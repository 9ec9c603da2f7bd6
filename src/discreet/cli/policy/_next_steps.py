"""What comes after a policy was written: what is left to decide, or the commands up to a first answer."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from discreet.cli.policy._skeleton import PolicyDraft
from discreet.errors import printable
from discreet.rational import decimal_text, rational

__all__ = ["next_steps"]


def next_steps(draft: PolicyDraft, data: str, output: Path) -> str:
    """What is left to decide, or which commands come next."""
    if draft.undecided:
        return printable(f"{output} is written. Left to decide in it: {', '.join(draft.undecided)}.")
    lines = [f"{output} is written, and complete. Next:", *_next(draft, data, output)]
    return "\n".join(printable(line) for line in lines)


def _next(draft: PolicyDraft, data: str, output: Path) -> Sequence[str]:
    budget = draft.budget or {"epsilon": "1", "delta": "1e-6"}
    ledger = output.with_suffix(".ledger")
    source = shlex.quote(data) if "://" not in data else "URL"
    tenth = {name: decimal_text(rational(value.strip('"'), name) / 10) for name, value in budget.items()}
    table = draft.tables[0]
    groupable = [c.name for c in table.listed if c.column is not None and c.column.type not in ("float", "decimal")]
    keys = groupable[:1] if "delta" in budget else []
    written = [_sql_name(name) for name in keys]
    sql = f"SELECT {''.join(f'{name}, ' for name in written)}COUNT(*) AS n FROM {_sql_name(table.name)}"  # noqa: S608 - to be read by a person
    sql += "".join(f" GROUP BY {name}" for name in written)
    spend = " ".join(f"--{name} {value}" for name, value in tenth.items() if name != "delta" or keys)
    lines = [f"  discreet policy check {shlex.quote(str(output))} --data {source}"]
    if draft.budget is None:
        lines.append(f"  discreet ledger create {shlex.quote(str(ledger))} --epsilon 1 --delta 1e-6")
    lines.append(
        f"  discreet query {shlex.quote(sql)} --data {source} --policy {shlex.quote(str(output))} "
        f"--ledger {shlex.quote(str(ledger))} {spend}"
    )
    return lines


def _sql_name(name: str) -> str:
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
    return name if plain else '"' + name.replace('"', '""') + '"'
