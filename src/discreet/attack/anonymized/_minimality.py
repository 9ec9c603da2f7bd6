"""Minimality: a class is left whole only where each of its cuts fails, and that tells where in it values are.

Source: Wong, Fu, Wang and Pei 2007, for tables that are cut from the top, as those of Mondrian; the guesser is our own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.anonymize import ANY, Condition, Hierarchy, read_columns, read_frame
from discreet.anonymize.conditions import Check
from discreet.anonymize.tables import Column
from discreet.attack._classes import Classes, read_classes, values_of
from discreet.attack._outcome import Control, Outcome
from discreet.errors import ParameterError
from discreet.noise import permutation

__all__ = ["Tried", "minimality"]

_BLOCK = 1 << 22
_Bools = NDArray[np.bool_]
_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
Tried = Literal["best", "fast"]
"""Which cuts were tried: all of each column, or those at its median."""


def minimality(  # noqa: PLR0913
    release: object,
    original: object,
    quasi: Sequence[str],
    condition: Condition,
    *,
    k: int = 1,
    method: Tried = "best",
    hierarchies: Mapping[str, Hierarchy] | None = None,
    draws: int = 1000,
    sure: float = 0.9,
) -> Outcome:
    """Guess who of a class has which of its sensitive values, knowing that no cut of it satisfied the condition.

    The attacker has the release with its certificate, which states k, the condition and the method, and a register of
    the people with their quasi-identifiers. So each cut that was tried is known, and that one of its halves fails the
    condition where both have k people. The values of a class are dealt out to its people at random, and deals are kept
    in which every such cut fails: how often somebody has a value in them is the belief that they have it. Targets are
    the people of classes with such a cut; of all others minimality tells nothing. All deals are taken to be equally
    likely: where a sensitive value hangs together with a quasi-identifier within a class, beliefs are too sure.

    The control has the same guesses, dealt out by chance among the people of each class: as many are right of them who
    knows the class, and not who is where in it. The evidence also has who is guessed rightly by what is most frequent
    in the class, as `homogeneity` does it.

    Parameters
    ----------
    release
        A table as it was published; of rows with stars alone nothing is guessed.
    original
        The truth: the same rows, in the same order, with the quasi-identifiers as an attacker knows them.
    quasi
        The columns by which people are found.
    condition
        What each class satisfies: `LDiversity` or `TCloseness` of the sensitive column.
    k
        The smallest class that was allowed.
    method
        How the table was cut, as `KAnonymity` names it.
    hierarchies
        Those by which it was.
    draws
        How many deals are tried for a class. A belief is the class's own share as far as none of them is kept.
    sure
        A claim is a belief that reaches this where the class's own share of the value does not.

    Raises
    ------
    ParameterError
        For columns that are missing, tables of different lengths, settings out of their range, and a release of whose
        classes none could have been cut.

    >>> from discreet.anonymize import KAnonymity, LDiversity
    >>> people = pa.table({"age": [20, 20, 30, 30], "illness": ["flu", "gout", "flu", "flu"]})
    >>> out = KAnonymity(2, ["age"], ["illness"], l=2).fit_transform(people)
    >>> minimality(out.table, people, ["age"], LDiversity("illness", 2), k=2).targets
    4
    """
    if k < 1 or draws < 1 or not 0 < sure <= 1:
        raise ParameterError("k and draws are 1 or more, and sure is a belief above 0 and at most 1")
    if method not in {"best", "fast"}:
        raise ParameterError(
            f"the method is 'best' or 'fast', not {method!r}: of others it is not known what they tried"
        )
    rows = read_classes(release, quasi, [condition.column])
    register = read_frame(original)
    if register.table.num_rows != rows.table.num_rows:
        raise ParameterError(
            f"the release has {rows.table.num_rows:,} rows and the original {register.table.num_rows:,}"
        )
    known = read_columns(register, quasi, "the original")
    read_columns(register, [condition.column], "the original")
    (secret,) = read_columns(read_frame(rows.table), [condition.column], "the release")
    check = condition.check(secret)
    trees = hierarchies or {}
    chosen: list[_Ints] = []
    beliefs: list[_Floats] = []
    shares: list[_Floats] = []
    for members in _members(rows, quasi):
        cuts = np.array(
            [
                each
                for column in known
                for each in _cuts(column.codes[members], column, method, trees.get(column.name))
                if k <= each.sum() <= len(members) - k
            ]
        )
        if not len(cuts):
            continue
        share = np.bincount(secret.codes[members], minlength=secret.size) / len(members)
        chosen.append(members)
        beliefs.append(_believed(secret.codes[members], cuts, check, share, draws))
        shares.append(np.broadcast_to(share, (len(members), secret.size)))
    if not chosen:
        raise ParameterError(f"no class could have been cut into two of {k:,}: minimality tells nothing of this table")
    truth = values_of(register.table, condition.column)
    return _outcome(chosen, beliefs, shares, secret, truth, sure)


def _members(rows: Classes, quasi: Sequence[str]) -> list[_Ints]:
    """The rows of each class, but for that of suppressed ones."""
    order = np.argsort(rows.class_of, kind="stable")
    groups = np.split(order, np.cumsum(rows.sizes)[:-1])
    firsts = rows.table.select(list(quasi)).take(pa.array(rows.first, pa.int64())).to_pylist()
    return [each for each, cells in zip(groups, firsts, strict=True) if set(cells.values()) != {ANY}]


def _cuts(codes: _Ints, column: Column, method: Tried, tree: Hierarchy | None) -> list[_Bools]:
    """Which people are in one half, by each cut of a column that is tried."""
    if method == "fast":
        middle = np.partition(codes, len(codes) // 2)[len(codes) // 2]
        return [codes < middle, codes <= middle]
    if tree is not None:
        codes = _children(codes, column, tree)
    ranks = codes
    if tree is not None or not column.is_number:
        # Frequent ones first; of equally frequent ones that which is first in the list.
        counts = np.bincount(codes)
        ranks = np.argsort(np.lexsort((np.arange(len(counts)), -counts)))[codes]
    return [ranks <= each for each in np.unique(ranks)[:-1]]


def _children(codes: _Ints, column: Column, tree: Hierarchy) -> _Ints:
    """For each person the ancestor at the highest level at which the class has several."""
    for level in range(tree.height, 0, -1):
        groups = tree.groups(column, level)[codes]
        if (groups != groups[0]).any():
            return groups
    return codes


def _believed(codes: _Ints, cuts: _Bools, check: Check, share: _Floats, draws: int) -> _Floats:
    """For each person, a line each, how likely each value is, given that every cut has a half that fails."""
    size, people = len(share), len(codes)
    agreeing, total = share + np.zeros((people, size)), 1
    step = max(_BLOCK // (size * max(len(cuts), people)), 1)
    for first in range(0, draws, step):
        number = min(step, draws - first)
        # The orders of disjoint blocks of one random order are independent, and each is equally likely.
        orders = permutation(number * people).reshape(number, people).argsort(axis=1)
        has = (codes[orders][:, None, :] == np.arange(size)[:, None]).astype(np.float32)
        left = np.asarray((has @ cuts.T.astype(np.float32)).transpose(0, 2, 1), np.float64)
        right = has.sum(axis=2)[:, None, :] - left
        holds = check.holds(left.reshape(-1, size)) & check.holds(right.reshape(-1, size))
        is_minimal = ~holds.reshape(number, len(cuts)).any(axis=1)
        agreeing += has[is_minimal].sum(axis=0).T
        total += int(is_minimal.sum())
    return agreeing / total


def _outcome(  # noqa: PLR0913, PLR0917
    chosen: Sequence[_Ints],
    beliefs: Sequence[_Floats],
    shares: Sequence[_Floats],
    secret: Column,
    truth: Sequence[object],
    sure: float,
) -> Outcome:
    people, belief, share = np.concatenate(chosen), np.concatenate(beliefs), np.concatenate(shares)
    place = {each: i for i, each in enumerate(secret.values)}
    own = np.array([place.get(truth[i], -1) for i in people])
    overall = np.bincount(secret.codes, minlength=secret.size)
    # Ties go to what is more frequent in the table.
    guess, usual = ((each + overall * 1e-12).argmax(axis=1) for each in (belief, share))
    right = guess == own
    surest, before = (each[np.arange(len(guess)), guess] for each in (belief, share))
    claimed = (surest >= sure) & (before < sure)
    size = secret.size
    class_of = np.repeat(np.arange(len(chosen)), [len(each) for each in chosen])
    guessed = np.bincount(class_of * size + guess, minlength=len(chosen) * size)
    there = np.bincount((class_of * size + own)[own >= 0], minlength=len(chosen) * size)
    sizes = np.bincount(class_of).repeat(size)
    by_chance = float((guessed * there / sizes).sum())
    evidence = pa.table(
        [
            pa.array(people),
            pa.array([secret.values[each] for each in guess]),
            pa.array(surest),
            pa.array(before),
            pa.array(claimed),
            pa.array(right),
            pa.array(usual == own),
        ],
        ["row", "guess", "belief", "share in the class", "claimed", "right", "right by the class alone"],
    )
    return Outcome(
        "minimality",
        int(right.sum()),
        len(right),
        Control(by_chance / len(right), len(right)),
        evidence,
        claims=int(claimed.sum()),
        false_claims=int((claimed & ~right).sum()),
    )
