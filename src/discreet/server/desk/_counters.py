"""Counters for the owner: a closed list of them, which nothing in the data can move, in the desk's file."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import get_args

from discreet.errors import ParameterError
from discreet.server.desk._ask import Source
from discreet.server.desk._refusals import Kind
from discreet.server.desk._state import State

__all__ = ["ANSWERS", "REFUSALS", "SIGN_INS", "Counters", "Family"]


@dataclass(frozen=True)
class Family:
    """Counters of one name, one for each combination of the values that its labels may have, and no other."""

    name: str
    meaning: str
    labels: Mapping[str, tuple[str, ...]]

    @cached_property
    def series(self) -> Mapping[tuple[str, ...], str]:
        """The name in the desk's file of each combination."""
        return {values: json.dumps([self.name, *values]) for values in product(*self.labels.values())}


ANSWERS = Family(
    "discreet_answers",
    "Answers, by where they come from: paid now, public anyway, a repeat, the shelf, or a rehearsal.",
    {"origin": get_args(Source)},
)
REFUSALS = Family("discreet_refusals", "Refusals, by their kind.", {"kind": get_args(Kind)})
SIGN_INS = Family("discreet_sign_ins", "Sign-ins, by their outcome.", {"outcome": ("admitted", "refused")})


class Counters:
    """Counts of this process, which `flush` adds to those of all processes in the file.

    >>> counters = Counters(State(None))
    >>> counters.add(SIGN_INS, "admitted")
    >>> counters.totals(SIGN_INS)
    {('admitted',): 1, ('refused',): 0}
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._own, self._unsaved = Counter[str](), Counter[str]()
        self._lock = threading.Lock()

    def add(self, family: Family, *values: str) -> None:
        """Count one. Raises `ParameterError` for what is not on the list."""
        name = family.series.get(values)
        if name is None:
            raise ParameterError(f"{family.name} has no counter for {values}")
        with self._lock:
            self._own[name] += 1
            self._unsaved[name] += 1

    def own(self, family: Family) -> Mapping[tuple[str, ...], int]:
        """What this process has counted since it began."""
        with self._lock:
            return {values: self._own[name] for values, name in family.series.items()}

    def totals(self, family: Family) -> Mapping[tuple[str, ...], int]:
        """What all processes have counted and flushed, and this one besides."""
        self.flush()
        with self._state.transaction(write=False) as connection:
            rows: Sequence[tuple[str, int]] = connection.execute("SELECT name, value FROM counters").fetchall()
        stored = dict(rows)
        return {values: stored.get(name, 0) for values, name in family.series.items()}

    def flush(self) -> None:
        """Add what was counted since the last time to the file."""
        with self._lock:
            unsaved, self._unsaved = self._unsaved, Counter[str]()
        if not unsaved:
            return
        try:
            with self._state.transaction() as connection:
                connection.executemany(
                    "INSERT INTO counters VALUES (?, ?) "
                    "ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
                    unsaved.items(),
                )
        except BaseException:
            with self._lock:
                self._unsaved.update(unsaved)
            raise
