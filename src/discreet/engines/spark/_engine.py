"""The engine for data in Apache Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache as cached
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.engines._marginals import Counts
from discreet.engines._protocol import EdgeQueries
from discreet.engines._records import RecordBatches, records_in_shards
from discreet.engines._shards import Shard, counts_in_shards, in_shards
from discreet.engines._worker import Worker
from discreet.engines.spark._bounding import bounded_sql, keys_sql, records_chain, records_query, values_sql
from discreet.engines.spark._dialect import DIALECT, declared_as, link_family
from discreet.engines.spark._marginals import SCHEMA, Task, add_pieces, read_pieces
from discreet.engines.spark._private import PrivateSession
from discreet.engines.spark._results import groups_of, values_of
from discreet.engines.spark._url import is_running, session_of
from discreet.engines.sql import Relation, StoredColumn, check_links, check_people, is_deep, rows_sql, stored_edges
from discreet.errors import DataError, DiscreetError, QueryError
from discreet.policy import Policy
from discreet.query import BoundedAggregate, EdgeRows, Group, Marginals, RecordRows

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

__all__ = ["Spark", "spark_at"]

_READABLE = {
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "string", "binary", "date",
    "timestamp", "timestamp_ntz",
}  # fmt: skip
"""Stored types whose values all have a defined reading: nested ones, variants, times and intervals do not."""
_SPENT = "What was reserved for this query stays spent."
_T = TypeVar("_T")


class Spark:
    """Runs bounded aggregates in a Spark application. Safe to share between threads.

    The user's session is left as it is: settings that decide what SQL means are those of a session of the engine's own.
    A view is what its owner says it is, and must be such that each of its rows depends on one unit alone, and that no
    row makes it fail: `LIMIT`, a window over several people or a cast that raises in a view would let one person's rows
    decide about others'. Rows alone leave the executors, and then only bounded and summed: the driver is sent the sums
    of each group.

    Spark shows the numbers of rows of each step in its web page and event log, and logs failures of tasks with what
    made them fail: whoever may see these may see the data.

    Parameters
    ----------
    source
        A classic SparkSession; `session_of` makes one for a URL.
    policy
        Says which tables and columns exist; a column that it does not name is invisible.
    tables
        The policy's tables that are served here, by default all. They are found under their own names, or in a mapping
        under names as SQL writes them, which may be qualified.
    stops
        Whether `close` stops the session.
    """

    def __init__(
        self, source: SparkSession, policy: Policy, tables: Iterable[str] | None = None, *, stops: bool = False
    ) -> None:
        if not hasattr(source, "_jsparkSession"):
            raise DataError(
                f"a {type(source).__module__.partition('.')[0]} {type(source).__name__} of Spark Connect, or another "
                "object, is not a source; give a classic SparkSession, SparkSession.builder.master(…).getOrCreate()"
            )
        named = {name: DIALECT.identifier(name) for name in (policy.tables if tables is None else tables)}
        if isinstance(tables, Mapping):
            named |= tables
        unknown = [name for name in named if name not in policy.tables]
        if unknown:
            raise DataError(f"the policy has no table {', '.join(unknown)}; it has {', '.join(policy.tables)}")
        self._policy = policy
        self._tables = named
        self._stops = source.stop if stops else None
        self._relations: dict[str, Relation] = {}
        try:
            session = PrivateSession(source)
        except Exception:  # noqa: BLE001 - what Spark says may hold anything
            session = None
        if session is None:
            raise DataError("the Spark session has stopped; start another and connect again")
        self._session = session
        self._worker = Worker(session.interrupt)

    def check(self, table: str) -> None:
        """Raise `DataError` unless the table is there, with the unit and every column that the policy names."""
        self._run(lambda: check_links(table, self._policy, self._tables, self._relation, link_family))
        self._run(lambda: check_people(table, self._policy, self._relation, declared_as))

    def accept(self, request: BoundedAggregate) -> None:
        """Write the query, as `run` will. Raises `QueryError` where it is nested more deeply than Spark reads."""
        sql = bounded_sql(request, rows_sql(DIALECT, request, self._policy, self._described), bytes(16))
        if is_deep(sql) and not self._run(lambda: self._session.reads(sql)):
            raise QueryError(
                "the query is nested more deeply than this Spark application reads; nest fewer functions, compute "
                "parts of it in a view, or give the JVM a larger stack (-Xss)"
            )

    def run(self, request: BoundedAggregate, salt: bytes) -> list[Group]:
        """The exact sums of every group that is not empty; see `discreet.engines.Engine`."""
        return self._run(lambda: self._groups(request, salt))

    def count_marginals(self, request: Marginals, salt: bytes) -> Counts:
        """The exact counts of each marginal; see `discreet.engines.Engine`. Executors count, and need discreet."""
        return self._run(lambda: self._counts(request, salt))

    def read_records(self, request: RecordRows, salt: bytes) -> pa.Table:
        """The rows that count, at the driver; see `discreet.engines.Engine`."""
        return self._run(lambda: self._records(request, salt))

    def query_edges(self, request: EdgeRows, search: Callable[[EdgeQueries], _T]) -> _T:
        """What `search` returns of a graph; see `discreet.engines.Engine`. Executors keep its edges until then."""
        return self._run(lambda: self._searched(request, search))

    def _groups(self, request: BoundedAggregate, salt: bytes) -> list[Group]:
        stored = cached(self._relation)

        def source(shard: Shard) -> str:
            return rows_sql(DIALECT, request, self._policy, stored, shard)

        def answered(shard: Shard) -> list[Group] | None:
            rows = self._rows(bounded_sql(request, source(shard), salt))
            return None if rows is None else groups_of(rows, request)

        def values(shard: Shard, place: int) -> list[tuple[Any, ...]] | None:
            rows = self._rows(values_sql(request, source(shard), salt, place))
            return None if rows is None else values_of(rows, request)

        return self._finished(request, lambda: in_shards(request, answered, values))

    def _counts(self, request: Marginals, salt: bytes) -> Counts:
        stored, task = cached(self._relation), Task.from_request(request)

        def counted(shard: Shard) -> Counts | None:
            source = rows_sql(DIALECT, request.bounded, self._policy, stored, shard)
            try:
                sql = keys_sql(request.bounded, source, salt)
                return read_pieces(request, self._session.mapped(sql, task, add_pieces, SCHEMA))
            except DataError:
                raise
            except Exception as error:  # noqa: BLE001
                lacking = "No module named 'discreet'" in str(error)
            if lacking:
                raise DataError(
                    "Spark could not count: its executors have no discreet; install it on each, where PYSPARK_PYTHON "
                    "points to"
                )
            return None

        return self._finished(request.bounded, lambda: counts_in_shards(request, counted))

    def _records(self, request: RecordRows, salt: bytes) -> pa.Table:
        stored = cached(self._relation)

        def read(shard: Shard) -> pa.Table | None:
            source = rows_sql(DIALECT, request.bounded, self._policy, stored, shard)
            collected = RecordBatches(request)
            try:
                for batch in self._session.arrow(records_query(request, source, salt)).to_batches():
                    collected.add(list(batch.columns), batch.num_rows)
            except DataError:
                raise
            except Exception:  # noqa: BLE001 - what Spark says may hold anything
                return None
            return collected.table()

        return self._finished(request.bounded, lambda: records_in_shards(request, read))

    def _searched(self, request: EdgeRows, search: Callable[[EdgeQueries], _T]) -> _T:
        bounded = request.rows.bounded

        def work() -> tuple[_T] | None:
            source = rows_sql(DIALECT, bounded, self._policy, cached(self._relation))
            try:
                with stored_edges(self._session, DIALECT, request, *records_chain(bounded, source, bytes(16))) as edges:
                    return (search(edges),)
            except DiscreetError:
                raise
            except Exception:  # noqa: BLE001 - what Spark says may hold anything
                return None

        return self._finished(bounded, work)[0]

    def _finished(self, request: BoundedAggregate, work: Callable[[], _T | None]) -> _T:
        """What is read, or in the house's words why it is not. Raised outside of `except`, without Spark's message."""
        result, refused = None, None
        try:
            result = work()
        except DataError as error:  # a table is not what it was when it was checked
            refused = str(error)
        if result is None and not self._session.is_alive():
            raise DataError(
                "Spark stopped before the query was finished: the cluster or the driver is gone. "
                f"{_SPENT} Start another session and connect again"
            )
        if refused is not None:
            raise DataError(f"{refused}. {_SPENT}")
        if result is None:
            raise DataError(
                f"Spark could not finish reading {', '.join(request.tables)}: a file may be damaged, a view may have "
                f"failed, or memory or disk ran out. {_SPENT}"
            )
        return result

    def close(self) -> None:
        """Forget the tables. The session stays the caller's, unless it is said to stop."""
        self._worker.close(self._close)

    def _close(self) -> None:
        self._session.close()
        if self._stops is not None:
            with suppress(Exception):  # it may be gone already
                self._stops()

    def explain(self, request: BoundedAggregate) -> str:
        """The physical plan of a request, in Spark's words: what is shuffled, and how often."""

        def plan() -> str:
            source = rows_sql(DIALECT, request, self._policy, self._relation)
            return self._session.plan(bounded_sql(request, source, bytes(16)))

        return self._run(plan)

    def _run(self, work: Callable[[], _T]) -> _T:
        return self._worker.run(self._session.in_thread(work))

    def _rows(self, sql: str) -> list[tuple[Any, ...]] | None:
        """The rows, or None if the engine failed. Its message, which may contain data, is dropped here."""
        try:
            return self._session.rows(sql)
        except Exception:  # noqa: BLE001
            return None

    def _relation(self, name: str) -> Relation:
        """A table as it is now, under a name in the engine's session."""
        if name not in self._tables:
            raise DataError(f"the policy's table {name} has no source; give connect() one under that name")
        table = self._policy.tables[name]
        view = f"discreet_{list(self._policy.tables).index(name)}"
        try:
            described = self._session.bind(view, self._tables[name])
        except Exception:  # noqa: BLE001
            described = None
        if described is None and not self._session.is_alive():
            raise DataError("the Spark session has stopped; start another and connect again")
        if described is None:
            raise DataError(
                f"the Spark session has no table or view {self._tables[name]} that can be read; "
                "register it under that name, and not as a stream"
            )
        wanted = list(dict.fromkeys([*table.columns, *table.hidden, *self._policy.linked_by(name)]))
        self._relations[name] = Relation(view, _columns(name, wanted, described))
        return self._relations[name]

    def _described(self, name: str) -> Relation:
        """A table as it was when it was last looked up."""
        if name not in self._relations:
            self.check(name)
        return self._relations[name]


def spark_at(url: str, policy: Policy, tables: Iterable[str] | None = None) -> Spark:
    """The engine at a URL of `session_of`. Closing it stops the application, unless that ran before."""
    ran = is_running()
    session = session_of(url)
    try:
        return Spark(session, policy, tables, stops=not ran)
    except BaseException:
        if not ran:
            session.stop()
        raise


def _columns(table: str, wanted: list[str], described: list[tuple[str, str]]) -> dict[str, StoredColumn]:
    """The stored columns that the policy names. Raises `DataError` if one is missing, ambiguous or of no known type."""
    names = [name.casefold() for name, _ in described]
    if any(names.count(column.casefold()) > 1 for column in wanted):
        raise DataError(f"two columns of {table} differ by case alone; rename one")
    missing = [column for column in wanted if column.casefold() not in names]
    if missing:
        raise DataError(f"the source of {table} lacks what the policy names: {', '.join(missing)}")
    columns: dict[str, StoredColumn] = {}
    for column in wanted:
        name, kind = described[names.index(column.casefold())]
        plain = "string" if kind.startswith("string collate ") else kind
        if plain.partition("(")[0] not in _READABLE:
            raise DataError(f"{column} of {table} is stored as {kind}, which is not supported; cast it first")
        quoted = DIALECT.identifier(name)
        columns[column] = StoredColumn(name, plain, quoted if plain == kind else f"collate({quoted}, 'UTF8_BINARY')")
    return columns
