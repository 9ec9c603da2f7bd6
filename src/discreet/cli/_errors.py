"""Turn exceptions into one clean message and an exit code."""

from __future__ import annotations

import functools
import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NoReturn, ParamSpec

import typer

from discreet.errors import BudgetExceeded, DataError, DiscreetError, LedgerError, PolicyError, printable

__all__ = ["Termination", "careful", "heed_termination", "in_options", "show_error"]

P = ParamSpec("P")

_PACKAGE = Path(__file__).parents[1]
_USAGE, _INTERNAL, _INTERRUPTED, _TERMINATED = 2, 1, 130, 143
_STOPPED = "interrupted; what was already charged stays charged"
_CODES: tuple[tuple[type[DiscreetError], int], ...] = (
    (BudgetExceeded, 3),
    (PolicyError, 4),
    (DataError, 4),
    (LedgerError, 4),
)


def careful(command: Callable[P, object]) -> Callable[P, None]:
    """The same command, where every failure is one message on stderr and an exit code, and never a traceback."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
            if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]
                sys.stdout.flush()
        except (typer.Exit, typer.Abort):
            raise
        except BrokenPipeError:
            _forget_stdout()
            raise typer.Exit(0) from None
        except OSError as error:
            _forget_stdout()
            raise typer.Exit(show_error(error)) from None
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 — shown without its text, unless that is ours
            raise typer.Exit(show_error(error)) from None

    return run


def show_error(error: BaseException) -> int:
    """Print an error as one line on stderr, in the words of the command line. Returns its exit code."""
    match error:
        case DiscreetError():
            message, code = str(error), next((code for kind, code in _CODES if isinstance(error, kind)), _USAGE)
        case KeyboardInterrupt():
            message, code = _STOPPED, _TERMINATED if isinstance(error, Termination) else _INTERRUPTED
        case OSError():
            message, code = f"the answer cannot be written: {error.strerror}; ask again, a repeat is free", _INTERNAL
        case _:  # its text may hold private values, so only its place is shown
            message = f"a bug in discreet: {type(error).__name__} at {_place(error)}; please report this line"
            code = _INTERNAL
    label = typer.style("error:", fg=typer.colors.RED, bold=True)
    typer.echo(f"{label} {in_options(printable(message))}", err=True)
    return code


class Termination(KeyboardInterrupt):
    """SIGTERM, which ends a query as Ctrl-C does."""


def heed_termination() -> None:
    """Let SIGTERM end what runs in order, databases included, unless this process was told to ignore it."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - signal calls it so
    raise Termination


_OPTIONS = {
    "pure": ("--epsilon",),
    "approx": ("--epsilon", "--delta"),
    "rho": ("--rho", "--delta"),
    "mu": ("--mu", "--delta"),
}
"""How the command line states what each function of `discreet.privacy` makes."""

_WORDS = {
    'assume={"rows": n}': "--assume-rows N".ljust(18),  # as long, since it stands in columns
    'assume={"max_rows": n}': "--assume-cap N".ljust(22),
    "key=…, or --key-file FILE on the command line": "--key-file FILE",
    ", dp.gaussian(noise)": "",  # a spend that has no option
    "Session.plan(query).explain()": "`discreet plan`",
    "say by truth= which": "say by --row which",
}
"""How the command line states other things."""


def in_options(text: str) -> str:
    """The same words for somebody who writes options and no Python.

    >>> in_options("spend dp.approx(epsilon, delta), or for example dp.rho(0.5)")
    'spend --epsilon E --delta D, or for example --rho 0.5'
    """

    def options(match: re.Match[str]) -> str:
        names, values = _OPTIONS[match[1]], match[2]
        if values is None:
            return " and ".join(names[: 2 if match[1] == "approx" else 1])
        shown = [
            value if value[:1].isdigit() else name[2].upper()
            for name, value in zip(names, values.split(", "), strict=False)
        ]
        return " ".join(f"{name} {value}" for name, value in zip(names, shown, strict=False))

    for python, words in _WORDS.items():
        text = text.replace(python, words)
    calls = r"dp\.(pure|approx|rho|mu)\b(?:\(([^()]*)\))?"
    return re.sub(calls, options, re.sub(rf"\b(?:plan\(query, )?spend=({calls})\)?", r"\1", text))


def _place(error: BaseException) -> str:
    """The last line of our own code that an exception passed: code is ours by where this package lies."""
    place, trace = "unknown", error.__traceback__
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename)
        if path.is_relative_to(_PACKAGE):
            place = f"{path.relative_to(_PACKAGE).as_posix()}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _forget_stdout() -> None:
    """Let Python's last flush go nowhere: nobody reads any more."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
