"""A database in memory over public rows: it reads no file, loads no extension and sees no variable of Python's."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

import duckdb
import pyarrow as pa

from discreet.errors import QueryError, printable

__all__ = ["Sandbox"]

_SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "enable_progress_bar": "false",
    "TimeZone": "'UTC'",
    "enable_external_access": "false",
    "lock_configuration": "true",
}


class Sandbox:
    """Runs SQL over some Arrow tables, by name. Close it, or use it in a `with`.

    >>> with Sandbox({"t": pa.table({"x": [1, 2]})}) as sandbox:
    ...     sandbox.run('SELECT SUM(x) AS s FROM t').to_pydict()
    {'s': [Decimal('3')]}
    """

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        self._connection = duckdb.connect(":memory:")
        for name, table in tables.items():
            self._connection.register(name, table)
        for name, value in _SETTINGS.items():
            self._connection.execute(f"SET {name} = {value}")

    def add(self, name: str, table: pa.Table) -> None:
        """One more table, or another one under the same name."""
        self._connection.register(name, table)

    def run(self, sql: str) -> pa.Table:
        """The rows of a query. Raises `QueryError` with what the database finds wrong: all that it sees is public."""
        try:
            return self._connection.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            reason = printable(str(error).splitlines()[0])
            raise QueryError(f"the synthetic table cannot answer this: {reason}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
