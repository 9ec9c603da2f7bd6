"""What the owner of a ledger decides: `discreet ledger grant`, `rotate`, `revoke`, `freeze`, `thaw` and so on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from discreet.cli.ledger._options import (
    CapDeltaOption,
    CapEpsilonOption,
    CapMuOption,
    CapRhoOption,
    KeyFileOption,
    LedgerArgument,
    moment,
)
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.ledger import Account, OwnedLedger

__all__ = [
    "FREEZE",
    "GRANT",
    "RENEW",
    "REVOKE",
    "ROTATE",
    "THAW",
    "TRANSFER",
    "freeze",
    "grant",
    "renew",
    "revoke",
    "rotate",
    "thaw",
    "transfer",
]

GRANT = (
    "[bold]Examples[/bold]\n\n"
    "  discreet ledger grant visits.ledger ada --epsilon 1\n\n"
    "  discreet ledger grant visits.ledger ada --epsilon 0.5 --every month --token-file ada.token\n\n"
    "  discreet ledger grant visits.ledger officer --role auditor\n\n"
    "Granting an account again changes what you name, and leaves the rest: its other terms, its token, and what it has "
    "spent. A lost token is replaced by `discreet ledger rotate`. The caps of all accounts may add up to more than the "
    "whole budget: then whoever comes first spends it."
)
ROTATE = (
    "[bold]Examples[/bold]\n\n  discreet ledger rotate visits.ledger ada --token-file ada-2.token\n\n"
    "Whoever has the account open by the old token can neither spend nor read from then on."
)
REVOKE = (
    "[bold]Examples[/bold]\n\n  discreet ledger revoke visits.ledger ada\n\n"
    "What it has spent stays spent. `discreet ledger rotate` and `discreet ledger thaw` give it back."
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


_TokenOption = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        show_default=False,
        help="Write the token to this new file, for your eyes only. Default: print it, once.",
    ),
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
        str | None,
        typer.Option(
            metavar="analyst|auditor",
            show_default=False,
            help="Who spends, or who reads all but releases. Default: analyst.",
        ),
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(
            metavar="day|week|month|quarter|year|none",
            show_default=False,
            help="Begin again with each such window of the calendar (UTC). What is lost in windows adds up.",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="DATE|never",
            show_default=False,
            help="From when on nothing is spent: 2027-01-01 (UTC), or 2027-01-01T12:00+01:00.",
        ),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(metavar="NAME", show_default=False, help="The part of the people that it may ask about, alone."),
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="No token: whoever may open the ledger may use the account.")
    ] = False,
    token_file: _TokenOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Make an account under the whole budget, and print the token that opens it; or change what is named of one."""
    from discreet.cli._options import spend_of
    from discreet.cli.ledger._open import opened
    from discreet.ledger import checked_period

    cap, chosen = spend_of(epsilon, rho, mu, delta), None if role is None else _role(role)
    ends = None if until in (None, "never") else moment(until)
    period = None if every in (None, "none") else checked_period(every)
    if no_token and token_file is not None:
        raise ParameterError("--no-token makes no token to write to --token-file: leave one of them out")
    with opened(ledger, key_file) as book:
        known = book.accounts.get(name)
        if known is not None:
            _check_fixed(known, chosen, part, token_file)
            book.amend(
                name,
                cap=cap,
                every="none" if every == "none" else period,
                until="never" if until == "never" else ends,
                token=False if no_token else None,
            )
            typer.echo(f"{_granted(book.accounts[name])} {_LOST if no_token else _STAYS}", err=True)
        else:
            if chosen != "auditor" and cap is None:
                raise ParameterError(
                    "say what the account may spend: --epsilon E, --rho R or --mu M; only an auditor spends none"
                )

            def make() -> str | None:
                return book.grant(
                    name, cap, role=chosen or "analyst", every=period, until=ends, part=part, token=not no_token
                )

            secret = _written(make, token_file)
            typer.echo(_granted(book.accounts[name]), err=True)
            _hand_over(secret, token_file)
        _warn_of_caps(book)


_STAYS = "Its token stays as it is."
_LOST = "It has no token: whoever may open the ledger may use it."


def rotate(
    ledger: LedgerArgument, name: NameArgument, *, token_file: _TokenOption = None, key_file: KeyFileOption = None
) -> None:
    """Give an account a new token, in place of its old one. Its terms, and what it has spent, stay."""
    from discreet.cli.ledger._open import opened

    with opened(ledger, key_file) as book:
        secret = _written(lambda: book.rotate(name), token_file)
    _hand_over(secret, token_file)


def revoke(ledger: LedgerArgument, name: NameArgument, *, key_file: KeyFileOption = None) -> None:
    """Take an account away: it is frozen, and its token opens nothing any more."""
    from discreet.cli.ledger._open import opened

    with opened(ledger, key_file) as book:
        book.revoke(name)
    typer.echo(f"The account {name} is frozen, and its token opens nothing: `discreet ledger rotate` makes a new one.")


def _check_fixed(known: Account, role: str | None, part: str | None, token_file: Path | None) -> None:
    if (role is not None and role != known.role) or (part is not None and part != known.part):
        raise ParameterError(f"the role and the part of the account {known.name} are fixed; grant another account")
    if token_file is not None:
        raise ParameterError(
            f"the account {known.name} has been granted before and keeps its token: leave --token-file out, or make a "
            f"new token with `discreet ledger rotate`"
        )


def _written(make: Callable[[], str | None], token_file: Path | None) -> str | None:
    """The token that is made, also in its file: one that cannot be written fails before."""
    from discreet.cli.ledger._open import forget, new_secret_file

    if token_file is None:
        return make()
    new_secret_file(token_file, "", "--token-file")
    try:
        secret = make()
    except BaseException:
        forget(token_file)
        raise
    if secret is not None:
        token_file.write_text(secret + "\n", encoding="ascii")
    return secret


def _hand_over(secret: str | None, token_file: Path | None) -> None:
    if secret is None:
        typer.echo(_LOST, err=True)
    elif token_file is not None:
        typer.echo(f"Its token is in {token_file}: hand it over, to be named by --token-file.", err=True)
    else:
        typer.echo(
            "Its token is kept nowhere and shown this once: hand it over, to be set as DISCREET_TOKEN.", err=True
        )
        typer.echo(secret)


def _warn_of_caps(book: OwnedLedger) -> None:
    from discreet.privacy import in_words, parts

    budget, caps = book.total.cap, [parts(each.cap) for each in book.accounts.values() if each.role == "analyst"]
    together = [sum(each) for each in zip(*caps, strict=True)]
    if any(each > most for each, most in zip(together, parts(budget), strict=False)):
        typer.echo(
            f"The caps of all accounts add up to more than the whole budget of {in_words(budget)}: whoever comes first "
            "spends it.",
            err=True,
        )


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
