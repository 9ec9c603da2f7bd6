"""The errors that discreet raises.

    DiscreetError
    ├── ParameterError    an argument is out of its range
    ├── PolicyError       a policy is incomplete, contradictory or has an unknown key
    ├── DataError         a source cannot be opened, or lacks what the policy promises
    ├── QueryError        a query is malformed or not supported
    ├── BudgetExceeded    a spend does not fit what is left
    ├── LedgerError       a ledger cannot be opened, written or trusted
    │   ├── AccountStopped    an account, or the whole, is frozen or has ended
    │   ├── EventRefused      what is asked of an account cannot be: there is none, or its role does not allow it
    │   ├── KeyReused         an idempotency key belongs to another request, or to one that has no answer
    │   └── SignInRefused     there is no such account, or the token is not its own
    ├── Cancelled         a query was cancelled while it was being answered
    └── MissingExtra      an optional dependency is not installed

A message says what was wrong, what is allowed and what to do next. It depends on the policy, the query and the
caller's arguments, never on private data.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "AccountStopped",
    "BudgetExceeded",
    "Cancelled",
    "DataError",
    "DiscreetError",
    "EventRefused",
    "KeyReused",
    "LedgerError",
    "MissingExtra",
    "ParameterError",
    "PolicyError",
    "QueryError",
    "SignInRefused",
    "printable",
]


class DiscreetError(Exception):
    """Base of every error that discreet raises on purpose."""


class ParameterError(DiscreetError):
    """An argument is out of its range; the message names it and the range."""


class PolicyError(DiscreetError):
    """A policy is incomplete, contradictory, or has a key that discreet does not know.

    `problems` holds what is wrong with a policy that could be read: for each problem the keys that lead to it, from the
    outermost on, and the words.
    """

    def __init__(self, message: str = "", problems: Sequence[tuple[tuple[str, ...], str]] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class DataError(DiscreetError):
    """A source cannot be opened, or lacks a table or column that the policy promises."""


class QueryError(DiscreetError):
    """A query is malformed, or asks for something that is not supported."""


class BudgetExceeded(DiscreetError):
    """A spend does not fit what is left of the budget; nothing was spent."""


class LedgerError(DiscreetError):
    """A ledger cannot be opened, written or trusted."""


class AccountStopped(LedgerError):
    """An account, or the whole, is frozen by its owner or has ended; nothing was spent."""


class EventRefused(LedgerError):
    """What is asked of an account cannot be: there is none of this name, or its role, part or terms do not allow it."""


class KeyReused(LedgerError):
    """An idempotency key was used for another request, or for one that was charged and has no answer."""


class SignInRefused(LedgerError):
    """There is no such account, or the token is not its own: which of the two, it does not say."""


class Cancelled(DiscreetError):
    """A query was cancelled while it was being answered; what was reserved for it stays spent."""


class MissingExtra(DiscreetError):
    """A feature needs an optional dependency; the message gives the pip command."""


def printable(text: str) -> str:
    r"""Text that cannot steer a terminal: what is not printable is written as an escape.

    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
