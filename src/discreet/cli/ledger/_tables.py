"""What `discreet ledger show` prints for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import printable

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from discreet.ledger import Account, Entry, Facts
    from discreet.privacy import Loss

__all__ = ["CURRENCIES", "budgets_table", "entries_table", "facts_table", "history_table", "standing"]

CURRENCIES = {
    "pure": "pure epsilon",
    "approx": "epsilon and delta",
    "rho": "rho and delta (zCDP)",
    "mu": "mu and delta (Gaussian DP)",
}
_PLAN = 12


def facts_table(name: str, facts: Facts, entries: int | None) -> Table:
    """What was fixed when the ledger was made, and its number of entries, if given."""
    from rich import box
    from rich.table import Table

    from discreet.ledger import fingerprint

    table = Table(box=box.SIMPLE, show_header=False)
    fields = {
        "ledger": name,
        "people": facts.people,
        "counts": None if facts.counts == "people" else f"losses of single {facts.counts}",
        "neighbours": facts.relation,
        "parts": ", ".join(facts.parts),
        "currency": CURRENCIES.get(facts.currency, facts.currency),
        "releases": "encrypted" if facts.key_check else "not encrypted",
        "signed by": facts.public_key and fingerprint(facts.public_key),
        "entries": None if entries is None else f"{entries:,}",
    }
    for key, value in fields.items():
        if value:
            table.add_row(key, _text(value))
    return table


def budgets_table(accounts: Sequence[Account], standings: Mapping[str, str]) -> Table:
    """A row for each budget; columns that say nothing are left out. `standings` are by name."""
    from rich import box
    from rich.table import Table

    rows = [_budget_row(each, standings[each.name]) for each in accounts]
    columns = [
        name for name in rows[0]
        if name in ("account", "cap", "spent", "left") or any(row[name] for row in rows)
    ]  # fmt: skip
    table = Table(*columns, box=box.SIMPLE_HEAD)
    for row in rows:
        table.add_row(*(_text(row[name]) for name in columns))
    return table


def history_table(history: Mapping[str, Loss], delta: Fraction) -> Table:
    """The same charges added up in every currency."""
    from rich import box
    from rich.table import Table

    from discreet.cli.ledger._meaning import odometer
    from discreet.privacy import in_words

    table = Table("added up in", "in all", "as epsilon", "at delta", box=box.SIMPLE_HEAD)
    for name, words in CURRENCIES.items():
        if name not in history:
            table.add_row(words, "some charge has no value in it", "", "")
            continue
        within = odometer(history[name], delta)
        read = ("not known", "") if within is None else (_up(within[0]), f"{float(within[1]):g}")
        table.add_row(words, in_words(history[name]), *read)
    return table


def entries_table(entries: Sequence[Entry], *, mine: bool) -> Table:
    """Entries, the newest first; an analyst's own are without their numbers, which would count others' entries."""
    from rich import box
    from rich.table import Table

    from discreet.privacy import in_words

    columns = ["at", "what", "how much", "plan", "request"]
    table = Table(*columns if mine else ["entry", "account", *columns], box=box.SIMPLE_HEAD)
    for each in entries:
        cells = [
            f"{each.at:%Y-%m-%d %H:%M:%S}",
            each.kind,
            "" if each.loss is None else in_words(each.loss),
            (each.plan_hash or "")[:_PLAN],
            each.idempotency_key or "",
        ]
        table.add_row(*map(_text, cells if mine else [f"{each.seq or 0:,}", each.account or "(whole)", *cells]))
    return table


def standing(account: Account, why: str | None) -> str:
    """Whether a budget may be spent from: empty if so, else a word for why not (`Account.stopped`)."""
    if account.role == "auditor":
        return "reads only"
    return "" if why is None else "frozen" if account.frozen else "ended"


def _budget_row(account: Account, state: str) -> dict[str, str]:
    from discreet.privacy import in_words

    name = account.name or "(whole)"
    if account.role == "auditor":
        return dict.fromkeys(_COLUMNS, "") | {"account": name, "state": state}
    return {
        "account": name,
        "cap": in_words(account.cap),
        "spent": in_words(account.spent),
        "left": in_words(account.remaining),
        "window": _window(account),
        "until": "" if account.until is None else f"{account.until:%Y-%m-%d %H:%M}",
        "part": account.part or "",
        "in all windows": "" if account.windows == 1 else in_words(account.lifetime),
        "state": state,
    }


_COLUMNS = ("account", "cap", "spent", "left", "window", "until", "part", "in all windows", "state")


def _window(account: Account) -> str:
    ends = account.ends
    if account.every is None or ends is None:
        return "" if account.windows == 1 else f"{account.windows}, until renewed"
    return f"{account.every} {account.windows}, to {ends:%Y-%m-%d}"


def _text(value: str) -> Text:
    from rich.text import Text

    return Text(printable(value))


def _up(value: float) -> str:
    """Six digits, rounded up."""
    text = f"{value:.6g}"
    return text if float(text) >= value else f"{value * (1 + 5e-6):.6g}"
