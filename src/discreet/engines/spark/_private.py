"""A session of the engine's own, beside the user's in the same Spark application, in which every setting is known.

Tables are resolved in the user's session, whose temporary views and catalog no other session sees, and the plan that
they stand for is carried over.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["PrivateSession"]

_T = TypeVar("_T")
Batches = Callable[[Iterator[Any]], Iterator[Any]]
"""From the Arrow batches of a task to others."""
_numbers = itertools.count(1)

_SETTINGS = {
    "spark.sql.ansi.enabled": "false",  # what does not convert, or divides by zero, is null
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.caseSensitive": "true",
    "spark.sql.variable.substitute": "false",  # ${…} in a text is a text
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.parser.singleCharacterPipeOperator.enabled": "true",
    "spark.sql.groupByAliases": "false",
    "spark.sql.icu.caseMappings.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.legacy.ctePrecedencePolicy": "CORRECTED",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "false",
    "spark.sql.legacy.literal.pickMinimumPrecision": "true",
    "spark.sql.legacy.charVarcharAsString": "false",
    "spark.sql.legacy.codingErrorAction": "true",
    "spark.sql.legacy.javaCharsets": "true",
    "spark.sql.legacy.integerGroupingId": "false",
    "spark.sql.requireAllClusterKeysForDistribution": "false",  # windows by person and group need no shuffle
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.maxPlanStringLength": "0",
    "spark.sql.analyzer.maxIterations": "1000",  # of which each level of nested lambdas takes two
}
_SPEED_SETTINGS = (
    "spark.sql.shuffle.partitions",
    "spark.sql.adaptive.",
    "spark.sql.files.",
    "spark.sql.autoBroadcastJoinThreshold",
)
"""The user's settings that decide how fast a query is, and nothing else."""


class PrivateSession:
    """Runs queries over tables of a user's session. Not safe to share between threads."""

    def __init__(self, user: SparkSession) -> None:
        self._user: Any = user
        self._views: set[str] = set()
        self._scratch: dict[str, Any] = {}
        self._tag = f"discreet-{next(_numbers)}"
        self._own: Any = self._user._jsparkSession.newSession()  # noqa: SLF001
        settings: dict[str, str] = self._user.conf.getAll
        for name, value in settings.items():
            if name.startswith(_SPEED_SETTINGS):
                self._own.conf().set(name, value)
        for name, value in _SETTINGS.items():
            self._own.conf().set(name, value)

    def bind(self, view: str, table: str) -> list[tuple[str, str]]:
        """Give a table of the user's session a name here; returns its columns with their types."""
        frame = self._user.table(table)
        if frame.isStreaming:
            raise ValueError
        plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
        rows = self._user._jvm.org.apache.spark.sql.classic.Dataset.ofRows(self._own, plan)  # noqa: SLF001
        rows.createOrReplaceTempView(view)
        self._views.add(view)
        return [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        from pyspark.sql.classic.dataframe import DataFrame

        return [tuple(row) for row in DataFrame(self._own.sql(sql), self._user).collect()]

    def arrow(self, sql: str) -> Any:
        """The rows of a query as an Arrow table, of texts and whole numbers."""
        from pyspark.sql.classic.dataframe import DataFrame

        frame: Any = DataFrame(self._own.sql(sql), self._user)
        return frame.toArrow()

    def create(self, name: str, sql: str) -> None:
        """Make a view of what a query returns, computed once: executors keep it in memory or on disk.

        It is cut off from the tables that it was read from. Where an executor is lost with its part, a query fails: to
        compute it anew would read tables that may have changed since.
        """
        level = self._user._jvm.org.apache.spark.storage.StorageLevel.MEMORY_AND_DISK()  # noqa: SLF001
        rows = self._own.sql(sql).localCheckpoint(True, level)  # noqa: FBT003
        self._scratch[name] = rows
        rows.createOrReplaceTempView(name)

    def drop(self, name: str) -> None:
        """Forget a view of `create`, with what the executors have of it."""
        rows = self._scratch.pop(name, None)
        if rows is not None:
            with suppress(Exception):  # a session that is gone has no views
                self._own.catalog().dropTempView(name)
                rows.queryExecution().analyzed().rdd().unpersist(False)  # noqa: FBT003

    def mapped(self, sql: str, task: Batches, total: Batches, schema: str) -> list[tuple[Any, ...]]:
        """What `total` makes of what `task` makes of the rows of a query, both where the rows are.

        What a task makes goes to where all that has the same value in the first column is.
        """
        from pyspark.sql.classic.dataframe import DataFrame

        parts: Any = DataFrame(self._own.sql(sql), self._user).mapInArrow(task, schema)
        totals: Any = parts.repartition(parts.columns[0]).mapInArrow(total, schema)
        return [tuple(row) for row in totals.collect()]

    def in_thread(self, work: Callable[[], _T]) -> Callable[[], _T]:
        """The same work for another thread, whose jobs are like those of this one and can be interrupted.

        Spark keeps a job's pool, description and tags by the thread that starts it.
        """
        try:
            context = self._user.sparkContext._jsc.sc()  # noqa: SLF001
            properties = context.getLocalProperties().clone()
        except Exception:  # noqa: BLE001 - a session that is gone has no jobs
            return work

        def tagged() -> _T:
            with suppress(Exception):
                context.setLocalProperties(properties)
                context.addJobTag(self._tag)
                context.setInterruptOnCancel(True)
            try:
                return work()
            finally:
                with suppress(Exception):
                    context.removeJobTag(self._tag)  # where threads of Python share those of Java

        return tagged

    def interrupt(self) -> None:
        """Cancel the jobs that run now."""
        self._user.sparkContext._jsc.sc().cancelJobsWithTag(self._tag)  # noqa: SLF001

    def reads(self, sql: str) -> bool:
        """Whether Spark understands a query; no row is read."""
        try:
            self._own.sql(sql)
        except Exception:  # noqa: BLE001 - a stack that overflows, or an error that the query does not have when it runs
            return not self.is_alive()
        return True

    def plan(self, sql: str) -> str:
        """How Spark would run a query, in its own words: for tests and benchmarks."""
        return str(self._own.sql(sql).queryExecution().executedPlan())

    def is_alive(self) -> bool:
        """Whether there is still a Spark application behind the session."""
        try:
            return not self._user._jsparkSession.sparkContext().isStopped()  # noqa: SLF001
        except Exception:  # noqa: BLE001 - whatever it is, there is no answer
            return False

    def close(self) -> None:
        """Forget the views; the application is the user's."""
        try:
            for view in self._views:
                self._own.catalog().dropTempView(view)
        except Exception:  # noqa: BLE001 - a session that is gone has no views
            return
