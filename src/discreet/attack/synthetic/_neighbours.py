"""Linkability, inference and closeness: what the synthetic rows nearest to somebody tell.

Distances are Gower's: categories that differ count 1, numbers their difference in parts of the range.
Source: Giomi, Boenisch, Wehmeyer and Tasnádi 2023 (anonymeter).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.attack._outcome import Control, Outcome
from discreet.attack.membership import MembershipOutcome, membership_outcome
from discreet.attack.synthetic._rows import Rows, Tables, random_places, read_tables
from discreet.errors import ParameterError

__all__ = ["closeness", "inference", "linkability"]

_CHUNK = 1 << 24


def linkability(  # noqa: PLR0913
    synthetic: object,
    original: object,
    control: object,
    *,
    first: Sequence[str],
    second: Sequence[str],
    neighbours: int = 1,
    targets: int = 2000,
) -> Outcome:
    """Link two parts of somebody's row through the synthetic row that is nearest in both.

    The control has other people of the same population.

    Parameters
    ----------
    synthetic, original, control
        As of `singling_out`.
    first, second
        The columns of each part.
    neighbours
        A link is right if one synthetic row is among so many nearest by both parts.
    targets
        How many people at most.

    Raises
    ------
    ParameterError
        For tables and columns that do not fit.
    """
    tables = read_tables(synthetic, original, control)
    parts = [[tables.place(each) for each in part] for part in (first, second)]
    if not parts[0] or not parts[1] or set(parts[0]) & set(parts[1]):
        raise ParameterError("first and second have columns each, none of them in both")
    if not 1 <= neighbours <= len(tables.synthetic):
        raise ParameterError(f"neighbours is a number from 1 to {len(tables.synthetic):,}, not {neighbours!r}")

    def linked(distances: list[NDArray[np.float32]], _: Rows) -> NDArray[np.bool_]:
        near = [np.argpartition(each, neighbours - 1, axis=1)[:, :neighbours] for each in distances]
        return (near[0][:, :, None] == near[1][:, None, :]).any(axis=(1, 2))

    return _compared("linkability", tables, targets, parts, linked)


def inference(  # noqa: PLR0913
    synthetic: object,
    original: object,
    control: object,
    *,
    secret: str,
    known: Sequence[str] | None = None,
    targets: int = 2000,
) -> Outcome:
    """Guess somebody's value of one column by the synthetic row nearest in the others.

    The control has other people: what is true of such people at large is inferred of them as well.

    Parameters
    ----------
    synthetic, original, control, targets
        As of `linkability`.
    secret, known
        The column that is guessed, right within a twentieth of the range of a number; and those that are known, all
        others if left out.

    Raises
    ------
    ParameterError
        For tables and columns that do not fit.
    """
    tables = read_tables(synthetic, original, control)
    place = tables.place(secret)
    columns = [tables.place(each) for each in known or [each for each in tables.names if each != secret]]
    if place in columns or not columns:
        raise ParameterError(f"{secret} is to be guessed: name other columns as known")

    def inferred(distances: list[NDArray[np.float32]], rows: Rows) -> NDArray[np.bool_]:
        nearest = distances[0].argmin(axis=1)
        return np.abs(tables.synthetic[nearest, place] - rows[:, place]) <= tables.spans[place] / 20

    return _compared("inference", tables, targets, [columns], inferred)


def closeness(synthetic: object, original: object, control: object, *, targets: int = 2000) -> MembershipOutcome:
    """Guess that those are behind the synthetic table who are near to one of its rows.

    It is weak evidence: a table may tell everything of people and have no row near to theirs.
    Parameters and errors are those of `linkability`.
    """
    tables = read_tables(synthetic, original, control)
    if targets < 1:
        raise ParameterError(f"targets is a number of people, 1 or more, not {targets!r}")
    scores: list[NDArray[np.float64]] = []
    for rows in (tables.original, tables.control):
        chosen = rows[random_places(len(rows), targets)]
        columns = list(range(len(tables.names)))
        near = [_distances(part, tables, columns).min(axis=1) for part in _parts(chosen, len(tables.synthetic))]
        scores.append(-np.concatenate(near).astype(np.float64))
    is_member = np.repeat([True, False], [len(each) for each in scores])
    return membership_outcome("membership by the closest record", np.concatenate(scores), is_member)


def _compared(
    attack: str,
    tables: Tables,
    targets: int,
    parts: Sequence[Sequence[int]],
    judge: Callable[[list[NDArray[np.float32]], Rows], NDArray[np.bool_]],
) -> Outcome:
    if targets < 1:
        raise ParameterError(f"targets is a number of people, 1 or more, not {targets!r}")
    results: list[NDArray[np.bool_]] = []
    chosen: list[NDArray[np.int64]] = []
    for rows in (tables.original, tables.control):
        places = random_places(len(rows), targets)
        chosen.append(places)
        results.append(
            np.concatenate(
                [
                    judge([_distances(some, tables, columns) for columns in parts], some)
                    for some in _parts(rows[places], len(tables.synthetic))
                ]
            )
        )
    right, usual = results
    evidence = pa.table([pa.array(chosen[0]), pa.array(right)], ["row", "right"])
    return Outcome(attack, int(right.sum()), len(right), Control(float(usual.mean()), len(usual)), evidence)


def _parts(rows: Rows, others: int) -> list[Rows]:
    return np.array_split(rows, max(len(rows) * others // _CHUNK, 1))


def _distances(rows: Rows, tables: Tables, columns: Sequence[int]) -> NDArray[np.float32]:
    total = np.zeros((len(rows), len(tables.synthetic)), np.float32)
    for column in columns:
        own, other = (each[:, column] for each in (rows, tables.synthetic))
        if tables.spans[column]:
            # In parts of the range before they are shortened: large numbers that are near to each other stay apart.
            start, span = tables.starts[column], tables.spans[column]
            near = (((each - start) / span).astype(np.float32) for each in (own, other))
            total += np.abs(np.subtract.outer(*near))
        else:
            total += np.not_equal.outer(own, other)
    return total
