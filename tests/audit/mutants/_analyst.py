"""An analyst at the front door, in many copies at once: what the mutants of session and ledger are audited with.

What a ledger does depends on what is asked and on whether the data changed, never on the noise that was drawn. So one
real session on one real ledger serves many copies of an analyst: every release has a number for each copy, with noise
of its own, and an output is what one copy sees.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from discreet.engines import EdgeQueries
from discreet.errors import DiscreetError
from discreet.ledger import open_ledger
from discreet.ledger.log import _rows as rows
from discreet.mechanisms import DiscreteLaplace
from discreet.policy import load_policy
from discreet.privacy import Loss, pure
from discreet.query import BoundedAggregate, EdgeRows, Group, Marginals, RecordRows, Release
from discreet.session import Session

__all__ = ["Analyst", "Desk", "dying_disk", "read"]

_COPIES = 1_000
_COLUMNS = {"x": {"type": "int"}, "c": {"type": "int", "keys": list(range(_COPIES))}, "q": {"type": "string"}}
_POLICY = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": _COLUMNS}}})

_COUNT = "SELECT c, COUNT(*) AS n FROM t WHERE x >= {} GROUP BY c"
_KEYS = "SELECT c, q FROM t WHERE x >= {} GROUP BY c, q"

Seen = list[Any]
"""What each copy sees of one answer."""


@dataclass(slots=True)
class _Engine:
    """`rows` rows for each copy, in a key of their own; `content` is what a digest of the data would be."""

    rows: int

    def check(self, table: str) -> None: ...

    def accept(self, request: BoundedAggregate) -> None: ...

    def run(self, request: BoundedAggregate, salt: bytes) -> list[Group]:
        if not self.rows:
            return []
        rest = ("mine",) * (len(request.keys) - 1)
        return [Group((copy, *rest), self.rows, (self.rows,) * len(request.measures)) for copy in range(_COPIES)]

    def count_marginals(self, request: Marginals, salt: bytes) -> tuple[Any, ...]:
        raise NotImplementedError

    def read_records(self, request: RecordRows, salt: bytes) -> Any:
        raise NotImplementedError

    def query_edges(self, request: EdgeRows, search: Callable[[EdgeQueries], Any]) -> Any:
        raise NotImplementedError

    def close(self) -> None: ...


@dataclass(slots=True)
class Desk:
    """What the analyst sits at: sessions on one ledger, over data that change with time."""

    counts: Sequence[int]
    budget: Loss
    home: Path
    engine: _Engine = field(init=False)

    def __post_init__(self) -> None:
        self.engine = _Engine(self.counts[0])

    @property
    def path(self) -> Path:
        """A ledger in a file, for those who need one."""
        return self.home / "ledger"

    @contextmanager
    def session(self, *, in_file: bool = False) -> Iterator[Session]:
        """A new session; on the same ledger if that is in a file."""
        with Session(self.engine, _POLICY, open_ledger(self.path if in_file else None, self.budget)) as session:
            yield session

    def change(self) -> None:
        """Time goes by; the version label stays."""
        self.engine.rows = self.counts[-1]

    def ask(self, session: Session, spend: Loss, question: int = 0) -> Seen:
        """A count."""
        return _seen(lambda: _numbers(session.sql(_COUNT.format(question), spend)))

    def keys(self, session: Session, spend: Loss, question: int = 0) -> Seen:
        """Which keys there are: for each copy whether it sees its own."""
        return _seen(lambda: _places(session.sql(_KEYS.format(question), spend)))

    def release(self, session: Session, mechanism: Any, **stated: Any) -> Seen:
        """A number of the analyst's own making, the same for each copy."""
        return _seen(lambda: session.release(mechanism, [self.engine.rows] * _COPIES, **stated).value)

    def noisy(self) -> bytes:
        """The payload of a release of the count at ε 1, of another making than SQL."""
        return json.dumps(DiscreteLaplace(1).release([self.engine.rows] * _COPIES)).encode()


@dataclass(frozen=True, slots=True)
class Analyst:
    """A mechanism over data as they change with time, a tuple of counts: what `script` sees, by copies."""

    script: Callable[[Desk], list[Seen]]
    budget: Loss = field(default_factory=lambda: pure(1))

    def draw(self, data: Sequence[int], size: int) -> list[tuple[Any, ...]]:
        """As many outputs: a tuple of what one copy saw, answer by answer."""
        outputs: list[tuple[Any, ...]] = []
        while len(outputs) < size:
            with tempfile.TemporaryDirectory() as home:
                seen = self.script(Desk(data, self.budget, Path(home)))
            outputs += zip(*seen, strict=True)
        return outputs[:size]


@contextmanager
def dying_disk(times: int) -> Iterator[list[Seen]]:
    """So many releases are lost on their way to the disk; what they said is in the list, as in a core dump."""
    append, lost, left = rows.append, list[Seen](), [None] * times

    def failing(connection: Any, row: Any, payload: bytes | None = None) -> None:
        if row.kind == "release" and left:
            assert payload is not None
            left.pop()
            lost.append(read(payload))
            raise sqlite3.OperationalError("disk I/O error")
        append(connection, row, payload)

    with patch.object(rows, "append", failing):
        yield lost


def read(payload: bytes) -> Seen:
    """The numbers in what is stored, whether by `Desk.noisy` or by a session."""
    return json.loads(payload) if payload[:1] == b"[" else _numbers(Release.from_bytes(payload))


def _seen(ask: Callable[[], Seen]) -> Seen:
    try:
        return ask()
    except DiscreetError as error:
        return [type(error).__name__] * _COPIES


def _numbers(release: Release) -> Seen:
    return release.to_arrow()["n"].to_pylist()


def _places(release: Release) -> Seen:
    found = set(release.to_arrow()["c"].to_pylist())
    return [copy in found for copy in range(_COPIES)]
