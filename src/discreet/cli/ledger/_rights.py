"""`discreet ledger grant`, `freeze`, `thaw`, `renew` and `transfer`: what the owner of a ledger decides."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from discreet.cli.ledger._options import (
    CapDeltaOption,
    CapEpsilonOption,
    CapMuOption,
    CapRhoOption,
    EveryOption,
    KeyFileOption,
    LedgerArgument,
    UntilOption,
    moment,
)
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.ledger import Account, OwnedLedger

__all__ = ["FREEZE", "GRANT", "RENEW", "THAW", "TRANSFER", "freeze", "grant", "renew", "thaw", "transfer"]

GRANT = (
    "[bold]Examples[/bold]\n\n"
    "  discreet ledger grant visits.ledger ada --epsilon 1\n\n"
    "  discreet ledger grant visits.ledger ada --epsilon 0.5 --every month --token-file ada.token\n\n"
    "  discreet ledger grant visits.ledger officer --role auditor\n\n"
    "Granting an account again changes its cap, its terms and its token; what it has spent stays spent. The caps of "
    "all accounts may add up to more than the whole budget: then whoever comes first spends it."
)
FREEZE = (
    "[bold]Examples[/bold]\n\n  discreet ledger freeze visits.ledger ada\n\n"
    "  discreet ledger freeze visits.ledger\n\nWhat was released before can still be had again, for free."
)
THAW = "[bold]Examples[/bold]\n\n  discreet ledger thaw visits.ledger ada\n\n  discreet ledger thaw visits.ledger"
RENEW = (
    "[bold]Examples[/bold]\n\n"
    "  discreet ledger renew visits.ledger\n\n"
    "  discreet ledger renew visits.ledger ada --epsilon 2\n\n"
    "What was spent before is not forgotten: about the same people, windows add up, and `discreet ledger show` says to "
    "what."
)
TRANSFER = (
    "[bold]Examples[/bold]\n\n  discreet ledger transfer visits.ledger ada ben --epsilon 0.25\n\n"
    "A part of the cap moves, for this window and all later ones."
)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="An account.")]
OptionalNameArgument = Annotated[
    str | None, typer.Argument(metavar="[NAME]", show_default=False, help="An account. Default: the whole ledger.")
]


def grant(  # noqa: PLR0913 — an option each
    ledger: LedgerArgument,
    name: NameArgument,
    *,
    epsilon: CapEpsilonOption = None,
    rho: CapRhoOption = None,
    mu: CapMuOption = None,
    delta: CapDeltaOption = None,
    role: Annotated[
        str, typer.Option(metavar="analyst|auditor", help="Who spends, or who reads all but releases.")
    ] = "analyst",
    every: EveryOption = None,
    until: UntilOption = None,
    part: Annotated[
        str | None,
        typer.Option(metavar="NAME", show_default=False, help="The part of the people that it may ask about, alone."),
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="No token: whoever may open the ledger may use the account.")
    ] = False,
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            metavar="FILE",
            show_default=False,
            help="Write the token to this new file, for your eyes only. Default: print it, once.",
        ),
    ] = None,
    key_file: KeyFileOption = None,
) -> None:
    """Make an account under the whole budget, or change one. Prints the token that opens it."""
    from discreet.cli._options import spend_of
    from discreet.cli.ledger._open import forget, new_secret_file, opened

    cap, ends, chosen = spend_of(epsilon, rho, mu, delta), moment(until), _role(role)
    if chosen == "analyst" and cap is None:
        raise ParameterError(
            "say what the account may spend: --epsilon E, --rho R or --mu M; only an auditor spends none"
        )
    if no_token and token_file is not None:
        raise ParameterError("--no-token makes no token to write to --token-file: leave one of them out")
    with opened(ledger, key_file) as book:
        if token_file is not None:
            new_secret_file(token_file, "", "--token-file")  # a file that cannot be written fails before the grant
        try:
            secret = book.grant(
                name, cap, role=chosen, every=None if every is None else every.value, until=ends, part=part,
                token=not no_token,
            )  # fmt: skip
        except BaseException:
            if token_file is not None:
                forget(token_file)
            raise
        if token_file is not None and secret is not None:
            token_file.write_text(secret + "\n", encoding="ascii")
        account = book.accounts[name]
    typer.echo(_granted(account), err=True)
    if secret is None:
        typer.echo("It has no token: whoever may open the ledger may use it.", err=True)
    elif token_file is not None:
        typer.echo(f"Its token is in {token_file}: hand it over, to be named by --token-file.", err=True)
    else:
        typer.echo(
            "Its token is kept nowhere and shown this once: hand it over, to be set as DISCREET_TOKEN.", err=True
        )
        typer.echo(secret)


def freeze(ledger: LedgerArgument, name: OptionalNameArgument = None, *, key_file: KeyFileOption = None) -> None:
    """Stop an account, or the whole ledger: nothing more is spent until it is thawed."""
    from discreet.cli.ledger._open import opened

    with opened(ledger, key_file) as book:
        book.freeze(_whole_or(name))
    typer.echo(f"{_called(name)} is frozen: nothing more is spent from it until `discreet ledger thaw`.")


def thaw(ledger: LedgerArgument, name: OptionalNameArgument = None, *, key_file: KeyFileOption = None) -> None:
    """Let an account, or the whole ledger, spend again."""
    from discreet.cli.ledger._open import opened
    from discreet.privacy import in_words

    with opened(ledger, key_file) as book:
        book.thaw(_whole_or(name))
        left = in_words(_state(book, name).remaining)
    typer.echo(f"{_called(name)} may spend again; {left} is left.")


def renew(  # noqa: PLR0913 — an option each
    ledger: LedgerArgument,
    name: OptionalNameArgument = None,
    *,
    epsilon: CapEpsilonOption = None,
    rho: CapRhoOption = None,
    mu: CapMuOption = None,
    delta: CapDeltaOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Begin a new window of an account, or of the whole ledger, now; with another cap if one is given."""
    from discreet.cli._options import spend_of
    from discreet.cli.ledger._open import opened
    from discreet.privacy import in_words

    cap = spend_of(epsilon, rho, mu, delta)
    with opened(ledger, key_file) as book:
        book.renew(_whole_or(name), cap)
        after = _state(book, name)
    typer.echo(
        f"{_called(name)} begins window {after.windows}, with {in_words(after.cap)}; "
        f"in the windows before it spent {in_words(after.before)}, which adds up."
    )


def transfer(  # noqa: PLR0913 — an option each
    ledger: LedgerArgument,
    giver: Annotated[str, typer.Argument(metavar="FROM", show_default=False, help="The account that gives.")],
    taker: Annotated[str, typer.Argument(metavar="TO", show_default=False, help="The account that takes.")],
    *,
    epsilon: CapEpsilonOption = None,
    rho: CapRhoOption = None,
    mu: CapMuOption = None,
    delta: CapDeltaOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Move a part of what one account has left to another. The whole budget stays as it is."""
    from discreet.cli._options import spend_of
    from discreet.cli.ledger._open import opened
    from discreet.privacy import in_words

    moved = spend_of(epsilon, rho, mu, delta)
    if moved is None:
        raise ParameterError("say how much to move: --epsilon E, --rho R or --mu M")
    with opened(ledger, key_file) as book:
        book.transfer(giver, taker, moved)
        left = {name: in_words(_state(book, name).remaining) for name in (giver, taker)}
    typer.echo(f"{giver} has {left[giver]} left, {taker} has {left[taker]}.")


def _role(text: str) -> Literal["analyst", "auditor"]:
    if text == "analyst" or text == "auditor":  # noqa: PLR1714 (narrowed by pyright)
        return text
    raise ParameterError(f"--role is analyst or auditor, not {text!r}")


def _whole_or(name: str | None) -> str:
    """The name that the ledger uses; an empty one, as from an unset variable, does not mean the whole ledger."""
    if name == "":
        raise ParameterError("the name of the account is empty: give its name, or no argument for the whole ledger")
    return name or ""


def _state(book: OwnedLedger, name: str | None) -> Account:
    return book.accounts[name] if name else book.total


def _granted(account: Account) -> str:
    from discreet.privacy import in_words

    if account.role == "auditor":
        return f"{account.name} may read everything but releases, and spend nothing."
    window = "" if account.every is None else f" in each {account.every}"
    part = "" if account.part is None else f" about {account.part}"
    end = "" if account.until is None else f", until {account.until:%Y-%m-%d %H:%M} UTC"
    return f"{account.name} may spend {in_words(account.cap)}{window}{part}{end}."


def _called(name: str | None) -> str:
    return f"the account {name}" if name else "the whole ledger"
