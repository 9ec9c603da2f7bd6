"""Sparse histories: a few known events of a person find the whole history. Source: Narayanan and Shmatikov 2008."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.anonymize import read_frame
from discreet.attack._outcome import Control, Outcome
from discreet.errors import ParameterError

__all__ = ["histories"]

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


def histories(  # noqa: PLR0913
    release: object,
    known: object,
    *,
    person: str,
    item: str,
    scales: Mapping[str, float],
    truth: Mapping[Any, Any] | None = None,
    eccentricity: float = 1.5,
) -> Outcome:
    """Find people's histories in a release, by a few events of each that are known about rightly.

    Each history is scored: a known event that it has counts more the rarer its item is, and the nearer its other
    columns are. The history with the highest score is guessed, and claimed if it stands out from the second by more
    than `eccentricity` standard deviations of all scores.

    Parameters
    ----------
    release
        A table of events with pseudonyms.
    known
        A table of the same columns, with the events that the attacker knows of each target.
    person, item
        The columns of pseudonyms (names, in what is known) and of what the events are about.
    scales
        The other columns, each with the difference at which an event counts 1/e: ratings, or seconds.
    truth
        The pseudonym of each target; the name itself if it is left out.
    eccentricity
        What is claimed.

    Raises
    ------
    ParameterError
        For columns that are missing or no numbers, and scales that are not above 0. An event whose number is null or
        NaN, on either side, counts as if that column were far off.

    >>> release = pa.table({"who": [1, 1, 2, 2], "film": ["a", "b", "a", "c"], "stars": [5.0, 1.0, 3.0, 4.0]})
    >>> known = pa.table({"who": [2], "film": ["c"], "stars": [4.0]})
    >>> histories(release, known, person="who", item="film", scales={"stars": 1.5}).right
    1
    """
    published, given = read_frame(release).table, read_frame(known).table
    for name in (person, item, *scales):
        for table, called in ((published, "release"), (given, "known table")):
            if name not in table.column_names:
                raise ParameterError(f"the {called} has no column {name}")
    wrong = [name for name, scale in scales.items() if not 0 < scale < float("inf")]
    if wrong:
        raise ParameterError(f"the scale of {wrong[0]} is a number above 0, not {scales[wrong[0]]!r}")
    scorer = _Scorer.of_release(published, person, item, scales)
    rows_of: dict[Any, list[int]] = {}
    for i, name in enumerate(given.column(person).to_pylist()):
        rows_of.setdefault(name, []).append(i)
    items = given.column(item).to_pylist()
    columns = {name: _numbers(given, name) for name in scales}
    guesses: list[Any] = []
    gaps: list[float] = []
    for rows in rows_of.values():
        scores = scorer.scores([items[i] for i in rows], {name: column[rows] for name, column in columns.items()})
        place, gap = _best(scores)
        guesses.append(scorer.people[place])
        gaps.append(gap)
    targets = list(rows_of)
    own = [name if truth is None else truth.get(name) for name in targets]
    right = np.array([a == b for a, b in zip(guesses, own, strict=True)])
    claimed = np.array(gaps) >= eccentricity
    evidence = pa.table(
        [pa.array(targets), pa.array(guesses), pa.array(gaps), pa.array(claimed), pa.array(right)],
        ["target", "guess", "eccentricity", "claimed", "right"],
    )
    there = np.isin(np.array(own, object), np.array(scorer.people, object))
    return Outcome(
        "sparse histories",
        int(right.sum()),
        len(targets),
        Control(float(there.mean()) / len(scorer.people)),
        evidence,
        claims=int(claimed.sum()),
        false_claims=int((claimed & ~right).sum()),
    )


def _numbers(table: pa.Table, name: str) -> _Floats:
    """A column as numbers, times in seconds, NaN for what is null or not finite."""
    column = table.column(name)
    try:
        if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
            microseconds: Any = column.cast(pa.timestamp("us")).cast(pa.int64())
            return np.asarray(microseconds.to_numpy(), float) / 1e6
        numbers = np.asarray(column.cast(pa.float64()).to_numpy(), float)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise ParameterError(
            f"the column {name} is of type {column.type}: a scale is for numbers, dates and times"
        ) from None
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _best(scores: _Floats) -> tuple[int, float]:
    """The place of the highest score, and how many standard deviations it is above the second."""
    if len(scores) == 1:
        return 0, 0.0
    second, first = np.argpartition(scores, -2)[-2:]
    spread = float(scores.std())
    return int(first), float(scores[first] - scores[second]) / spread if spread else 0.0


@dataclass(frozen=True)
class _Scorer:
    """The release by item: who has it, and with which values."""

    people: list[Any]
    events: dict[Any, _Ints]
    owner: _Ints
    columns: dict[str, _Floats]
    scales: Mapping[str, float]

    @classmethod
    def of_release(cls, table: pa.Table, person: str, item: str, scales: Mapping[str, float]) -> _Scorer:
        """Read a release once."""
        places: dict[Any, int] = {}
        owner = np.array([places.setdefault(each, len(places)) for each in table.column(person).to_pylist()])
        of_item: dict[Any, list[int]] = {}
        for i, each in enumerate(table.column(item).to_pylist()):
            of_item.setdefault(each, []).append(i)
        events = {each: np.array(rows) for each, rows in of_item.items()}
        columns = {name: _numbers(table, name) for name in scales}
        return cls(list(places), events, owner, columns, scales)

    def scores(self, items: list[Any], known: Mapping[str, _Floats]) -> _Floats:
        """The score of each person, for the known events of one target."""
        scores = np.zeros(len(self.people))
        for i, each in enumerate(items):
            rows = self.events.get(each)
            if rows is None:
                continue
            likeness = np.ones(len(rows)) if not self.scales else np.zeros(len(rows))
            for name, scale in self.scales.items():
                likeness += np.nan_to_num(np.exp(-np.abs(self.columns[name][rows] - known[name][i]) / scale))
            np.add.at(scores, self.owner[rows], likeness / np.log(1 + len(rows)))
        return scores
