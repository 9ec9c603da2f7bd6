"""Connect to a source, or to a server that has one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, overload

from discreet.engines import open_engine
from discreet.errors import ParameterError
from discreet.ledger import Ledger, open_for
from discreet.policy import Policy, load_policy
from discreet.session import Session

if TYPE_CHECKING:
    from discreet.client import RemoteSession

__all__ = ["connect"]

_SERVERS = ("https://", "http://")


@overload
def connect(
    source: object,
    policy: str | os.PathLike[str] | Mapping[str, object] | Policy,
    ledger: str | os.PathLike[str] | Ledger | None = None,
    *,
    account: str | None = None,
    token: str | None = None,
    key: bytes | None = None,
) -> Session: ...


@overload
def connect(
    source: str, *, account: str | None = None, token: str | None = None, key: str | None = None
) -> RemoteSession: ...


def connect(  # noqa: PLR0913
    source: object,
    policy: str | os.PathLike[str] | Mapping[str, object] | Policy | None = None,
    ledger: str | os.PathLike[str] | Ledger | None = None,
    *,
    account: str | None = None,
    token: str | None = None,
    key: bytes | str | None = None,
) -> Session | RemoteSession:
    """Open private tables for questions, or connect to a server that holds them.

    Parameters
    ----------
    source
        A DuckDB database, a ``postgresql://`` URL, or a Spark session or ``spark://`` URL, which hold every table by
        its name; or a dict from a table's name to one of these, a Parquet or CSV file, an Arrow table, or a frame of
        pandas, polars and their like. The address of a server by `discreet serve`, ``"https://desk.example"``, gives
        a `discreet.client.RemoteSession`: it takes no policy and no ledger, for the server has both.
    policy
        A TOML file or a dict of the same shape: the public facts of the source.
    ledger
        What keeps the budget: a file, a ``postgresql://`` URL (see `discreet.ledger.open_ledger`), or a ledger that is
        open already. One that does not exist is created, with the policy's budget. None is memory, for experiments.
    account, token
        The account of the ledger to spend from, and its secret. None is the owner's way: from the budget of all.
    key
        The 32 bytes that the ledger is encrypted with; a ledger that is made here takes them for life. Of a server the
        public key that signs its answers, as 64 hexadecimal digits, or its fingerprint: ask the owner, and pin it.

    Raises
    ------
    PolicyError, DataError, LedgerError, ParameterError, MissingExtra
        If the policy, the source, the ledger or the address cannot be used, or what the source needs is not installed.

    >>> import pyarrow as pa
    >>> from discreet.privacy import pure
    >>> policy = {"version": "1", "budget": {"epsilon": 1},
    ...           "tables": {"t": {"unit": "rows", "columns": {"x": {"type": "int", "bounds": [0, 9]}}}}}
    >>> with connect({"t": pa.table({"x": [1, 2, 3]})}, policy) as session:
    ...     release = session.sql("SELECT COUNT(*) AS n FROM t", spend=pure(0.25))
    ...     session.remaining
    pure(0.75)
    """
    if isinstance(source, str) and source.startswith(_SERVERS):
        return _remote(source, policy, ledger, account, token, key)
    if policy is None:
        raise ParameterError("private tables need a policy: dp.connect(source, policy=…); a server's address has none")
    if isinstance(key, str):
        raise ParameterError("the key of a ledger is 32 bytes; text is the public key of a server's ledger")
    checked = load_policy(policy)
    engine = open_engine(source, checked)
    try:
        return Session(engine, checked, open_for(checked, ledger, account, token, key))
    except BaseException:
        engine.close()
        raise


def _remote(  # noqa: PLR0913, PLR0917
    address: str, policy: object, ledger: object, account: str | None, token: str | None, key: bytes | str | None
) -> RemoteSession:
    if policy is not None or ledger is not None or isinstance(key, bytes):
        raise ParameterError(
            "the server at this address has the policy, the ledger and its key: give an account and its token, and as "
            "key the public key that its answers are signed by"
        )
    from discreet.client import RemoteSession

    return RemoteSession(address, account=account, token=token, key=key)
