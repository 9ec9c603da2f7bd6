"""Connect to a source."""

from __future__ import annotations

import os
from collections.abc import Mapping

from discreet.engines import open_engine
from discreet.ledger import Ledger, open_for
from discreet.policy import Policy, load_policy
from discreet.session import Session

__all__ = ["connect"]


def connect(  # noqa: PLR0913
    source: object,
    policy: str | os.PathLike[str] | Mapping[str, object] | Policy,
    ledger: str | os.PathLike[str] | Ledger | None = None,
    *,
    account: str | None = None,
    token: str | None = None,
    key: bytes | None = None,
) -> Session:
    """Open private tables for questions.

    Parameters
    ----------
    source
        A DuckDB database, a ``postgresql://`` URL, or a Spark session or ``spark://`` URL, which hold every table by
        its name; or a dict from a table's name to one of these, a Parquet or CSV file, an Arrow table, or a frame of
        pandas, polars and their like.
    policy
        A TOML file or a dict of the same shape: the public facts of the source.
    ledger
        What keeps the budget: a file, a ``postgresql://`` URL (see `discreet.ledger.open_ledger`), or a ledger that is
        open already. One that does not exist is created, with the policy's budget. None is memory, for experiments.
    account, token
        The account of the ledger to spend from, and its secret. None is the owner's way: from the budget of all.
    key
        The 32 bytes that the ledger is encrypted with; a ledger that is made here takes them for life.

    Raises
    ------
    PolicyError, DataError, LedgerError, MissingExtra
        If the policy, the source or the ledger cannot be used, or the engine of the source is not installed.

    >>> import pyarrow as pa
    >>> from discreet.privacy import pure
    >>> policy = {"version": "1", "budget": {"epsilon": 1},
    ...           "tables": {"t": {"unit": "rows", "columns": {"x": {"type": "int", "bounds": [0, 9]}}}}}
    >>> with connect({"t": pa.table({"x": [1, 2, 3]})}, policy) as session:
    ...     release = session.sql("SELECT COUNT(*) AS n FROM t", spend=pure(0.25))
    ...     session.remaining
    pure(0.75)
    """
    checked = load_policy(policy)
    engine = open_engine(source, checked)
    try:
        return Session(engine, checked, open_for(checked, ledger, account, token, key))
    except BaseException:
        engine.close()
        raise
