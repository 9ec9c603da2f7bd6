"""A graph inside an engine: its edges in scratch tables, and what counts and sensitivities ask of them.

An edge is stored once, as an arc from the end of lower degree to that of higher degree, with both degrees; of ends of
one degree the larger number is the lower. So few arcs leave any vertex, √(2m) at most, and joining those that leave one
vertex finds each triangle once. What comes back is a number, or a row for each degree, and never one for each vertex.

No query names a value of the data: the limits of degrees in its text are powers of two. Which of them are asked for
depends on the graph, as time does.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from discreet.engines.sql._dialect import Dialect
from discreet.query import EdgeRows, number_column

__all__ = ["Scratch", "StoredEdges", "stored_edges"]

_SENT = 2**15
"""So many vertices are sent to all machines, to where the arcs are, rather than arcs to the vertices."""
_PAIRS, _DEGREES, _ARCS = "discreet_pairs", "discreet_degrees", "discreet_arcs"


class Scratch(Protocol):
    """Tables of an engine that nobody else sees, and that are gone afterwards."""

    def create(self, name: str, sql: str) -> None:
        """Make a table of what a query returns. It is computed once."""
        ...

    def drop(self, name: str) -> None:
        """Remove a table, if it is there."""
        ...

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        ...


@dataclass(frozen=True, slots=True)
class StoredEdges:
    """See `discreet.engines.EdgeQueries`."""

    scratch: Scratch

    def degrees(self) -> list[tuple[int, int]]:
        """Each degree that a vertex has, from 1, and how many have it."""
        rows = self.scratch.rows(f"SELECT d, count(*) AS n FROM {_DEGREES} GROUP BY d")
        return [(int(degree), int(count)) for degree, count in rows]

    def triangles(self) -> int:
        """How many triangles there are. An engine that counts one by one never reaches 2**63 of them."""
        ((count,),) = self.scratch.rows(triangles_sql())
        return int(count)

    def joined_hubs(self, most: int) -> list[tuple[int, int]]:
        """Which of the first vertices are joined, as places in their order, from 0: the lower first.

        The order is by falling degree, and of one degree by number. There are as many as `most`, or all with edges.
        """
        return [(min(i, j), max(i, j)) for i, j in ((int(i), int(j)) for i, j in self.scratch.rows(hubs_sql(most)))]

    def common(self, higher: range, lower: range) -> list[tuple[int, int]]:
        """For each number of common neighbours from 1, the most other neighbours of a pair that has as many.

        Of pairs whose end of higher degree has a degree in `higher`, and the other one in `lower`. The other neighbours
        are those of both ends, without the ends: a common one counts twice.
        """
        rows = self.scratch.rows(common_sql(higher, lower))
        return [(int(common), int(others)) for common, others in rows]


@contextmanager
def stored_edges(
    scratch: Scratch, dialect: Dialect, request: EdgeRows, chain: str, rows: str
) -> Generator[StoredEdges]:
    """The edges of a request in scratch tables, which are dropped afterwards.

    `chain` and `rows` are a chain of steps to the rows that count and the name of the last, as `records_sql` has them.
    """
    try:
        scratch.create(_PAIRS, pairs_sql(dialect, request, chain, rows))
        scratch.create(_DEGREES, degrees_sql())
        scratch.create(_ARCS, arcs_sql())
        scratch.drop(_PAIRS)
        yield StoredEdges(scratch)
    finally:
        for name in (_PAIRS, _ARCS, _DEGREES):
            scratch.drop(name)


def pairs_sql(dialect: Dialect, request: EdgeRows, chain: str, rows: str) -> str:
    """Each edge once, its smaller end first."""
    ends = [f"{dialect.cast(number_column(i), 'BIGINT')} AS {name}" for i, name in enumerate("ab")]
    vertices = f"BETWEEN {request.first} AND {request.last}"
    return (
        f"{chain}SELECT DISTINCT least(a, b) AS a, greatest(a, b) AS b "
        f"FROM (SELECT {', '.join(ends)} FROM {rows}) AS e WHERE a <> b AND a {vertices} AND b {vertices}"
    )


def degrees_sql() -> str:
    """Each vertex v with edges, and its degree d."""
    return (
        f"SELECT v, count(*) AS d FROM (SELECT a AS v FROM {_PAIRS} UNION ALL SELECT b AS v FROM {_PAIRS}) AS e "
        "GROUP BY v"
    )


def arcs_sql() -> str:
    """Each edge from tail t, of degree dt, to head h, of degree dh, which comes before it by falling degree."""
    later = "(x.d < y.d OR (x.d = y.d AND x.v > y.v))"
    items = [
        f"CASE WHEN {later} THEN {one} ELSE {other} END AS {name}"
        for name, one, other in (
            ("t", "x.v", "y.v"), ("dt", "x.d", "y.d"), ("h", "y.v", "x.v"), ("dh", "y.d", "x.d")
        )
    ]  # fmt: skip
    return (
        f"SELECT {', '.join(items)} FROM {_PAIRS} AS e "
        f"JOIN {_DEGREES} AS x ON x.v = e.a JOIN {_DEGREES} AS y ON y.v = e.b"
    )


def triangles_sql() -> str:
    """Two arcs that leave one vertex, and the arc between their heads."""
    return (
        f"SELECT count(*) AS n FROM {_ARCS} AS i "
        f"JOIN {_ARCS} AS j ON j.t = i.t AND (i.dh < j.dh OR (i.dh = j.dh AND i.h > j.h)) "
        f"JOIN {_ARCS} AS k ON k.t = i.h AND k.h = j.h"
    )


def hubs_sql(most: int) -> str:
    """The places of the ends of each edge between the first vertices. The comment is a hint to Spark alone."""
    first = f"SELECT v, d FROM {_DEGREES} ORDER BY d DESC, v LIMIT {most}"
    sent = " /*+ BROADCAST(x), BROADCAST(y) */" if most <= _SENT else ""
    return (
        f"WITH hubs AS (SELECT v, row_number() OVER (ORDER BY d DESC, v) - 1 AS place FROM ({first}) AS f) "
        f"SELECT{sent} x.place AS i, y.place AS j FROM {_ARCS} AS e "
        "JOIN hubs AS x ON x.v = e.t JOIN hubs AS y ON y.v = e.h"
    )


def common_sql(higher: range, lower: range) -> str:
    """Paths of two edges from x to y, by pair, and then by how many of them a pair has.

    An edge between both ends is a row that counts as no path, so that it meets the paths of its pair without a join.
    """
    later = "(y.d < x.d OR (y.d = x.d AND y.v > x.v))"
    return (
        f"WITH x AS ({_incident(higher)}), y AS ({_incident(lower)}), "
        "paths AS (SELECT x.v AS a, y.v AS b, 1 AS path, 0 AS edge, x.d + y.d AS total "
        f"FROM x JOIN y ON x.w = y.w AND {later} "
        "UNION ALL SELECT h AS a, t AS b, 0 AS path, 1 AS edge, dh + dt AS total "
        f"FROM {_ARCS} WHERE {_within('dh', higher)} AND {_within('dt', lower)}), "
        "pairs AS (SELECT sum(path) AS common, max(total) - 2 * sum(edge) AS others FROM paths GROUP BY a, b) "
        "SELECT common, max(others) AS others FROM pairs WHERE common > 0 GROUP BY common"
    )


def _incident(degrees: range) -> str:
    """Each vertex v whose degree d is within limits, with each of its neighbours w."""
    return (
        f"SELECT h AS v, dh AS d, t AS w FROM {_ARCS} WHERE {_within('dh', degrees)} "
        f"UNION ALL SELECT t AS v, dt AS d, h AS w FROM {_ARCS} WHERE {_within('dt', degrees)}"
    )


def _within(degree: str, degrees: range) -> str:
    return f"{degree} >= {degrees.start} AND {degree} < {degrees.stop}"
