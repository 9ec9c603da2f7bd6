"""Statements that change a session: its settings, its cursors and statements, its transaction."""

from __future__ import annotations

from collections.abc import Callable

from discreet.server.postgres._portals import Portal, Portals
from discreet.server.postgres._refusals import SqlError
from discreet.server.postgres._transaction import Transaction
from discreet.server.postgres.codec.backend import Notice
from discreet.server.postgres.statements import kinds

__all__ = ["change"]

Notify = Callable[..., None]


def change(statement: kinds.Statement | None, transaction: Transaction, portals: Portals, notify: Notify) -> str:
    """Make the change that a statement asks for; the tag of its command. Raises `SqlError`."""
    match statement:
        case kinds.Set(name, value, local):
            if local and transaction.state == "I":
                notify(Notice("WARNING", "25P01", "SET LOCAL can only be used in transaction blocks"))
                transaction.settings.set(name, value)
            else:
                transaction.settings = transaction.settings.set(name, value, local=local)
            return "SET"
        case kinds.Reset(None):
            transaction.settings = transaction.settings.reset()
            return "RESET"
        case kinds.Reset(str(name)):
            transaction.settings = transaction.settings.set(name, None)
            return "RESET"
        case kinds.Nothing(tag):
            return tag
        case kinds.Declare() | kinds.CloseCursor() | kinds.Deallocate():
            return _portal_change(statement, transaction, portals)
        case kinds.Discard(tag):
            if tag == "DISCARD ALL":
                if transaction.state != "I":
                    raise SqlError("25001", "DISCARD ALL cannot run inside a transaction block")
                portals.statements.clear()
                portals.portals.clear()
                transaction.settings = transaction.settings.reset()
            return tag
        case _:
            return _transaction_change(statement, transaction, portals, notify)


def _portal_change(
    statement: kinds.Declare | kinds.CloseCursor | kinds.Deallocate, transaction: Transaction, portals: Portals
) -> str:
    match statement:
        case kinds.Declare(name, text, hold):
            if transaction.state == "I" and not hold:
                raise SqlError(
                    "25P01", "DECLARE CURSOR can only be used in transaction blocks", "Or declare it WITH HOLD."
                )
            portals.open(name, Portal(kinds.Question(text), hold=hold))
            return "DECLARE CURSOR"
        case kinds.CloseCursor(None):
            portals.portals.clear()
            return "CLOSE CURSOR ALL"
        case kinds.CloseCursor(str(name)):
            portals.portal(name)
            del portals.portals[name]
            return "CLOSE CURSOR"
        case kinds.Deallocate(str(name)):
            portals.statement(name)
            del portals.statements[name]
            return "DEALLOCATE"
        case _:
            portals.statements.clear()
            return "DEALLOCATE ALL"


def _transaction_change(
    statement: kinds.Statement | None, transaction: Transaction, portals: Portals, notify: Notify
) -> str:
    match statement:
        case kinds.Begin(tag):
            notify(*transaction.begin())
            return tag
        case kinds.Commit(chain):
            tag, notices = transaction.commit(chain=chain)
            portals.end_transaction(committed=tag == "COMMIT")
            notify(*notices)
            return tag
        case kinds.Rollback(None, chain):
            notify(*transaction.roll_back(chain=chain))
            portals.end_transaction(committed=False)
            return "ROLLBACK"
        case kinds.Rollback(str(name)):
            notify(*transaction.roll_back_to(name))
            return "ROLLBACK"
        case kinds.Savepoint(name):
            transaction.save(name)
            return "SAVEPOINT"
        case kinds.Release(name):
            transaction.release(name)
            return "RELEASE"
        case _:
            raise SqlError("0A000", "this statement is not supported here")
