"""Open a desk: the source, the ledger in its owner's hands, and the desk's own file beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from discreet.engines import open_engine
from discreet.errors import LedgerError
from discreet.ledger import OwnedLedger, open_for
from discreet.policy import Policy, load_policy
from discreet.server.desk._desk import Desk

__all__ = ["open_desk"]


def open_desk(  # noqa: PLR0913
    source: object,
    policy: str | os.PathLike[str] | Mapping[str, object] | Policy,
    ledger: str | os.PathLike[str] | None,
    *,
    key: bytes | None = None,
    state: Path | None = None,
    shelf: bool = False,
    beat: float | None = None,
) -> Desk:
    """A desk over a source, as `discreet.connect` opens it for its owner.

    Parameters
    ----------
    source, policy, ledger, key
        As for `discreet.connect`.
    state
        The desk's own file; None keeps it in memory, where it ends with the process.
    shelf
        Whether an answer that one account paid for answers the same question of all.
    beat
        Seconds: what was paid for, and what failed where it would cost, leaves on whole multiples of it, so that when
        it comes says little of how long it took. None: as soon as it is there.

    Raises
    ------
    PolicyError, DataError, LedgerError, ParameterError, MissingExtra
        If the policy, the source, the ledger or the file cannot be used, or a beat makes no sense.

    >>> from discreet.datasets import rand
    >>> from discreet.privacy import pure
    >>> from discreet.server.desk import Ask
    >>> with open_desk({"visits": rand.table}, rand.policy, None) as desk:
    ...     ada = desk.sign_in("ada", desk.owner().grant("ada", pure(1)))
    ...     desk.quote(ada, Ask("SELECT COUNT(*) AS n FROM visits", pure("0.5"))).price
    pure(0.5)
    """
    checked = load_policy(policy)
    engine = open_engine(source, checked)
    try:
        opened = open_for(checked, ledger, key=key)
        if not isinstance(opened, OwnedLedger):
            raise LedgerError("a desk needs the ledger in its owner's hands")
        return Desk(checked, engine, opened, state, shelf=shelf, beat=beat)
    except BaseException:
        engine.close()
        raise
