"""`discreet demo`: a first private answer, end to end."""

from __future__ import annotations

import shlex
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.elapsed import elapsed
from discreet.errors import BudgetExceeded, ParameterError

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.session import Session

__all__ = ["EXAMPLES", "demo"]

EXAMPLES = "[bold]Examples[/bold]\n\n  discreet demo\n\n  discreet demo --keep rand"

_QUERY = (
    "SELECT coinsurance, COUNT(*) AS n, AVG(dollars) AS dollars, AVG(doctor_visits) AS visits "
    "FROM visits GROUP BY coinsurance"
)
_GREEDY = "SELECT COUNT(*) AS n FROM visits WHERE dollars > 100"
_WIDTH = 100


def demo(
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            show_default=False,
            help="Keep the data, the policy and the ledger in a new directory, to go on. Default: nothing is kept.",
        ),
    ] = None,
) -> None:
    """Real people's data, answered under differential privacy: error bars, a free repeat and a refusal.

    Uses the RAND health insurance experiment, which is public and ships with discreet.
    """
    from rich.console import Console

    from discreet.cli.demo._data import copy_files

    console = Console()
    console.width = min(console.width, _WIDTH) if console.is_terminal else _WIDTH
    directory = None if keep is None else _new_directory(keep)
    place = tempfile.TemporaryDirectory(prefix="discreet-demo-") if directory is None else nullcontext(str(directory))
    with place as home:
        copy_files(Path(home))
        _tell(console, Path(home))
    _say(console, "Next", _next_steps(directory))


def _tell(console: Console, home: Path) -> None:
    from rich.markup import escape
    from rich.panel import Panel

    from discreet.connection import connect
    from discreet.datasets import rand

    _say(
        console,
        "1. Real people",
        "The RAND health insurance experiment gave families plans under which they paid 0, 25, 50, 95 or 100 percent "
        "of their doctors' bills (coinsurance), and recorded outpatient dollars and doctor visits: 20,190 "
        "person-years of 5,912 people. Did those who paid more go less often?",
    )
    _say(
        console,
        "2. The policy: public facts, stated by the owner of the data",
        "Bounds come from what one knows about doctors' bills, never from the rows. Everything in a policy is public.",
    )
    console.print(Panel(escape(rand.policy.read_text(encoding="utf-8").strip()), border_style="dim", expand=False))
    console.print()
    with elapsed(), connect({"visits": home / "visits.csv"}, home / "visits.toml", home / "visits.ledger") as session:
        _ask(console, session, home)


def _ask(console: Console, session: Session, home: Path) -> None:
    from discreet.cli.demo._data import truth, versus_truth
    from discreet.privacy import in_words, pure

    _say(
        console,
        "3. A private answer",
        f"[bold]{_QUERY}[/bold]\n\n"
        "Cost: epsilon 1 of a budget of 3. The charge is on disk before any noise is drawn. ± is the 95 % error bar of "
        "the noise. The truth stands beside it only because these data are public: discreet itself never shows it.",
    )
    first = session.sql(_QUERY, spend=pure(1))
    exact = truth(home / "visits.csv")
    console.print(versus_truth(first, exact, "dollars", "Mean outpatient dollars a year, each clamped to [0, 500]"))
    console.print(versus_truth(first, exact, "visits", "Mean doctor visits a year, each clamped to [0, 20]"))
    console.print(
        "The error bars are about the noise: they cover the clamped truth in about 95 of 100 cells. The last column "
        "shows what clamping changed: a bias that is not in the bars and that no budget buys back. The fewer people in "
        "a group, the wider its bars, for the same noise is spread over fewer of them.\n"
    )
    before = in_words(session.remaining)
    again = session.sql(_QUERY, spend=pure(1))
    same = "the same numbers" if again.to_arrow().equals(first.to_arrow()) else "OTHER numbers, which is a bug"
    _say(
        console,
        "4. The same question again is free",
        f"It got {same}, from the ledger. Left before: {before}. Left after: {in_words(session.remaining)}. "
        "Asking again and again and taking the mean does not wear the noise away.",
    )
    _say(
        console,
        "5. More than what is left is refused",
        f"[bold]{_GREEDY}[/bold], for epsilon 2.5:\n\n{_refusal(session)}",
    )
    _say(
        console,
        "6. What is left",
        f"Spent: {in_words(session.spent)}. Left: {in_words(session.remaining)}. The ledger is a file, so the budget "
        "outlives this process.",
    )


def _refusal(session: Session) -> str:
    from rich.markup import escape

    from discreet.privacy import pure

    try:
        session.sql(_GREEDY, spend=pure("2.5"))
    except BudgetExceeded as error:
        return f"[red]BudgetExceeded[/red]: {escape(str(error))}"
    return "It was answered, which is a bug."


def _say(console: Console, title: str, text: str) -> None:
    from rich.rule import Rule

    console.print(Rule(f"[bold]{title}[/bold]", align="left", style="dim"))
    console.print(text, highlight=False)
    console.print()


def _next_steps(directory: Path | None) -> str:
    from rich.markup import escape

    if directory is None:
        return (
            "discreet demo --keep rand        keeps these files, to go on asking\n"
            "discreet policy init YOUR_DATA   starts a policy for your own table"
        )
    data, policy, ledger = (shlex.quote(str(directory / f"visits.{kind}")) for kind in ("csv", "toml", "ledger"))
    query = "SELECT COUNT(*) AS n FROM visits WHERE doctor_visits > 0"
    return escape(f'discreet query "{query}" --data {data} --policy {policy} --ledger {ledger} --epsilon 0.1')


def _new_directory(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise ParameterError(f"{path} is not empty; name a new directory for --keep")
    except OSError as error:
        raise ParameterError(f"{path} cannot be made a directory: {error.strerror}; name another for --keep") from None
    return path
