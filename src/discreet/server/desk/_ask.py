"""What is asked at the desk, what it would cost, and what is answered."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa

from discreet.errors import LedgerError, ParameterError
from discreet.privacy import Loss
from discreet.query import Plan, Release
from discreet.rational import Number, rational
from discreet.release import BaseRelease, kind_of, parse_release_file

__all__ = ["LONGEST_QUERY", "Answered", "Ask", "Basket", "EarlierAnswer", "Quote", "QuotedColumn", "Source"]

LONGEST_QUERY = 1 << 16
"""Characters of a query that the desk takes."""

MOST_IN_BASKET = 100
"""Questions that may be asked at once."""

Source = Literal["paid", "public", "repeat", "shelf", "rehearsal"]
"""Where an answer comes from: drawn and charged now, listed from what is public anyway, the account's own of before,
another account's, or made-up rows."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A question as it is asked: a query with its spend, or with the half-widths that its columns may have.

    Attributes
    ----------
    query
        A SELECT in a `dialect` that `discreet.transpile` knows.
    spend
        The loss to buy noise for. With neither spend nor `error`, only an answer that exists already is served.
    error
        Targets: for each column that matters its half-width at `level`, in exact numbers. The least spend that reaches
        them is computed, in a `currency` with a `delta` if they are given, and takes the place of `spend`.
    bias
        Whether a tenth of the spend estimates what bounds and caps did.
    rows
        A public guess of the number of rows, for errors that depend on it.

    Raises `ParameterError` for a query that is too long, and for a spend beside targets.
    """

    query: str
    spend: Loss | None = None
    dialect: str = "duckdb"
    bias: bool = False
    error: tuple[tuple[str, Fraction], ...] = ()
    level: float = 0.95
    currency: str | None = None
    delta: Fraction | None = None
    rows: int | None = None

    def __post_init__(self) -> None:
        if len(self.query) > LONGEST_QUERY:
            raise ParameterError(f"a query has at most {LONGEST_QUERY:,} characters here; ask for less at once")
        if self.error and self.spend is not None:
            raise ParameterError("give a spend or targets for errors, not both: targets say what the spend is")
        if not 0 < self.level < 1:
            raise ParameterError(f"level must lie strictly between 0 and 1, for example 0.95; got {self.level}")

    @classmethod
    def for_errors(cls, query: str, error: Mapping[str, Number], **more: Any) -> Ask:
        """A question with targets in numbers of any kind."""
        exact = tuple((column, rational(half, f"the error of {column}")) for column, half in error.items())
        return cls(query, error=exact, **more)


@dataclass(frozen=True, slots=True)
class QuotedColumn:
    """A column of an answer: its Arrow type, whether it carries noise, and its half-width where that is known."""

    name: str
    type: pa.DataType
    noisy: bool
    error: float | None = None
    approximate: bool = False


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    """An answer to the same question that is there already, for free: at which loss, since when, with which errors.

    `errors` are the largest half-widths of each column with noise, over its rows, at 0.95. With a beat `at` is the one
    at which it left.
    """

    id: str
    loss: Loss
    at: datetime
    errors: Mapping[str, float]
    shared: bool


@dataclass(frozen=True, slots=True)
class Quote:
    """What a question would cost, and what it would answer. Making one costs nothing.

    `loss` is what its noise is bought for, `price` what would be charged: None where an answer is there already, or
    without a spend. `answers` are those that exist, at any spend.
    """

    ask: Ask
    plan: Plan
    id: str | None
    columns: tuple[QuotedColumn, ...]
    loss: Loss | None
    price: Loss | None
    answers: tuple[EarlierAnswer, ...] = ()

    @property
    def words(self) -> str:
        """The plan in words and one line for each column."""
        return self.plan.explain(self.ask.level)


@dataclass(frozen=True, slots=True)
class Basket:
    """Several questions that are asked at once, and what is charged for all of them; None if they are free."""

    quotes: tuple[Quote, ...]
    price: Loss | None


class Answered:
    """An answer as the ledger stores it, where it comes from, and what was charged for it now.

    `id` is the hash of its plan, by which it can be had again. One that `is_held` may not leave before the next beat.
    """

    def __init__(  # noqa: PLR0913
        self,
        plan_hash: str,
        payload: bytes,
        source: Source,
        price: Loss | None,
        read: Callable[[bytes], BaseRelease],
        *,
        is_held: bool = False,
    ) -> None:
        self.id, self.payload, self.source, self.price = plan_hash, payload, source, price
        self.is_held = is_held
        self._read = read

    @cached_property
    def release(self) -> BaseRelease:
        """The release. Raises `LedgerError` if what is stored cannot be read."""
        return self._read(self.payload)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the stored bytes."""
        return hashlib.sha256(self.payload).digest()

    @classmethod
    def restored(cls, plan_hash: str, payload: bytes, source: Source, *, is_held: bool = False) -> Answered:
        """A stored answer of whichever kind."""

        def read(stored: bytes) -> BaseRelease:
            return kind_of(parse_release_file(stored).certificate).read(stored)

        return cls(plan_hash, payload, source, None, read, is_held=is_held)

    @property
    def largest_errors(self) -> Mapping[str, float]:
        """The largest half-width of each column with noise, at 0.95; none for what is no table."""
        try:
            release = self.release
        except LedgerError:
            return {}
        if not isinstance(release, Release):
            return {}
        halves = {name: release.error(name) for name in release.noisy}
        return {name: float(max(values)) for name, values in halves.items() if len(values)}

    @property
    def table(self) -> Release:
        """The release of a query. Raises `ParameterError` for one of another kind."""
        if not isinstance(self.release, Release):
            raise ParameterError("this release is no table; ask for it as JSON")
        return self.release
