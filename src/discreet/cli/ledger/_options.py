"""Options that the commands on a ledger share, and those by which others open one as an account."""

from __future__ import annotations

import datetime as dt
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from discreet.errors import ParameterError

__all__ = [
    "AccountOption",
    "CapDeltaOption",
    "CapEpsilonOption",
    "CapMuOption",
    "CapRhoOption",
    "EveryOption",
    "IdempotencyOption",
    "KeyFileOption",
    "LedgerArgument",
    "Period",
    "Shape",
    "ShapeOption",
    "TokenFileOption",
    "UntilOption",
    "counted",
    "moment",
    "relation_of",
]

_CAP = "How much: exactly one currency, the ledger's own"
_AS = "As an account, or with a key"


class Period(StrEnum):
    """The windows that a budget may begin again with."""

    day = "day"
    week = "week"
    month = "month"
    quarter = "quarter"
    year = "year"


class Shape(StrEnum):
    """How to print what a ledger says."""

    table = "table"
    json = "json"


LedgerArgument = Annotated[
    str,
    typer.Argument(
        metavar="LEDGER",
        show_default=False,
        help="A file, or postgresql://USER@HOST/DATABASE?ledger=NAME.",
    ),
]
KeyFileOption = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        envvar="DISCREET_LEDGER_KEY_FILE",
        show_default=False,
        rich_help_panel=_AS,
        help="Where the key of an encrypted ledger is: 64 hexadecimal digits.",
    ),
]
AccountOption = Annotated[
    str | None,
    typer.Option(
        "--account",
        metavar="NAME",
        show_default=False,
        rich_help_panel=_AS,
        help="The account to use; its token is read from DISCREET_TOKEN or --token-file. Default: as the owner.",
    ),
]
TokenFileOption = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        show_default=False,
        rich_help_panel=_AS,
        help="Where the account's token is, in place of DISCREET_TOKEN.",
    ),
]
IdempotencyOption = Annotated[
    str | None,
    typer.Option(
        "--idempotency-key",
        metavar="KEY",
        show_default=False,
        help="A name of your own for this request: sent again under it after a lost connection, it is paid once.",
    ),
]
EveryOption = Annotated[
    Period | None,
    typer.Option(
        "--every",
        show_default=False,
        help="Begin again with each such window of the calendar (UTC). What is lost in windows adds up.",
    ),
]
UntilOption = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="DATE",
        show_default=False,
        help="From when on nothing is spent: 2027-01-01 (UTC), or 2027-01-01T12:00+01:00.",
    ),
]
CapEpsilonOption = Annotated[
    str | None,
    typer.Option("--epsilon", metavar="E", show_default=False, rich_help_panel=_CAP, help="ε, as 0.1 or 1/10."),
]
CapRhoOption = Annotated[
    str | None, typer.Option("--rho", metavar="R", show_default=False, rich_help_panel=_CAP, help="ρ of zCDP.")
]
CapMuOption = Annotated[
    str | None, typer.Option("--mu", metavar="M", show_default=False, rich_help_panel=_CAP, help="μ of Gaussian DP.")
]
CapDeltaOption = Annotated[
    str | None,
    typer.Option(
        "--delta", metavar="D", show_default=False, rich_help_panel=_CAP, help="δ beside ε, ρ or μ. Default: 0."
    ),
]
ShapeOption = Annotated[Shape, typer.Option("--format", help="How to print it; see docs/cli.md.")]


def moment(text: str | None) -> dt.datetime | None:
    """What `--until` says, in UTC; raises `ParameterError` for what is no moment.

    >>> moment("2027-01-01"), moment("2027-01-01T01:00+01:00") == moment("2027-01-01")
    (datetime.datetime(2027, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), True)
    """
    if text is None:
        return None
    try:
        parsed = dt.datetime.fromisoformat(text)
        if "T" not in text and " " not in text:
            parsed = parsed.replace(tzinfo=dt.UTC)
        if parsed.tzinfo is None:
            raise ParameterError(f"--until needs a time zone beside a time of day: write {text}Z for UTC")
        return parsed.astimezone(dt.UTC)
    except (ValueError, OverflowError):
        raise ParameterError(
            f"--until is a day, as 2027-01-01, or a moment, as 2027-01-01T12:00Z; got {text!r}"
        ) from None


def relation_of(text: str | None) -> Literal["add_remove", "substitute"] | None:
    """The value of ``--relation``; raises `ParameterError` for another."""
    if text is None or text == "add_remove" or text == "substitute":  # noqa: PLR1714 (narrowed by pyright)
        return text
    raise ParameterError(f"--relation is add_remove or substitute, not {text!r}")


def counted(text: str) -> Literal["people", "edges", "arcs", "events"]:
    """The value of ``--counts``; raises `ParameterError` for another."""
    if text == "people" or text == "edges" or text == "arcs" or text == "events":  # noqa: PLR1714 (narrowed by pyright)
        return text
    raise ParameterError(f"--counts is people, edges, arcs or events, not {text!r}")
