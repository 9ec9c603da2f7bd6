"""A query over databases as an entry of the audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from discreet.audit.catalog._entry import Entry
from discreet.audit.sql._query import Query, query
from discreet.policy import Policy
from discreet.privacy import Loss

__all__ = ["Pair", "SqlEntry"]

Pair = tuple[Mapping[str, pa.Table], Mapping[str, pa.Table]]
"""Two neighbouring databases."""

_COPIES = 256


@dataclass(frozen=True, slots=True)
class SqlEntry:
    """A query, a policy, a spend and two neighbouring databases of at most 20 rows, chosen to lose what is claimed.

    `tight` says that the sums of the two databases are as far apart as the claim allows; `note` says why this pair;
    `samples` is how many outputs an audit draws.
    """

    name: str
    text: str
    policy: Policy
    spend: Loss
    pair: Pair
    note: str
    tight: bool = True
    samples: int = 40_000

    @property
    def claim(self) -> Loss:
        """The loss that the plan of the query states, which an audit holds it to."""
        return self.query().loss

    @property
    def entry(self) -> Entry:
        """The audit of it as one of those of the library, with the noise of many outputs drawn by one call."""
        return Entry(
            name=f"SQL {self.name}",
            group="SQL",
            shown=self.text,
            mechanism=self.query(complete=1, copies=_COPIES),
            pairs=(self.pair,),
            claim=self.claim,
            samples=self.samples,
            note=self.note,
        )

    def query(self, *, complete: int = 4, copies: int = 1) -> Query:
        """The query as a mechanism over databases; the arguments are those of `discreet.audit.query`."""
        return query(self.text, self.policy, self.spend, complete=complete, copies=copies)
