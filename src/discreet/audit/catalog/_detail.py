"""Groups that overlap, published in two stages, seen whole."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.audit.catalog._entry import Entry, counting_context
from discreet.census import DetailSpec, DetailTables, PreparedDetail, PublishDetail
from discreet.policy import load_policy
from discreet.prices import Additive, DiscreteLaplace
from discreet.privacy import Loss, pure
from discreet.query import Marginals
from discreet.release import Terms

__all__ = ["detail_entries"]

_COLUMNS = {
    "place": {"type": "string"},
    "group": {"type": "string", "keys": ["a", "b"]},
    "sex": {"type": "string", "keys": ["F", "M"], "nullable": False},
}
_POLICY = {"version": "1", "tables": {"t": {"unit": "person", "max_rows": 2, "columns": _COLUMNS}}}
_SPEC = {
    "table": "t",
    "groups": {"column": "group", "most": 2},
    "geography": {"areas": {"place": ["here"]}, "levels": ["place"]},
    "detail": {"by_sex": {"from": 50, "columns": ["sex"]}},
    "shares": {"place": {"totals": 1, "detail": 1}},
    "chance": 0,
}

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class _Details:
    """Two groups in one area, of counts by group and sex: a score of all noisy counts, and the noisy totals.

    The score is the loss of privacy: how much farther noisy counts are from those of one table than from the other's.
    """

    spend: Loss
    tables: tuple[Counts, Counts]

    @cached_property
    def _prepared(self) -> PreparedDetail:
        return PublishDetail(DetailSpec.of_dict(_SPEC), self.spend).prepare(Terms.of_policy(load_policy(_POLICY)))

    def draw(self, data: Counts, size: int) -> list[list[float]]:
        """`size` independent releases."""

        def counted(request: Marginals) -> tuple[Counts, ...]:
            into = request.merged[0]
            counts = data if into is None else np.stack([data[np.array(into) == i].sum(axis=0) for i in set(into)])
            return (counts.sum(axis=1)[:, None] if request.sets == ((0, 1),) else counts[:, None],)

        context = counting_context(self._prepared.policy, counted)
        return [self._seen(self._prepared.answer(context)) for _ in range(size)]

    def _seen(self, release: DetailTables) -> list[float]:
        counts = release.measured["place"]
        ways = release.layout.chosen(counts.totals[:, 0])
        score = self._scored(counts.totals[:, 0], [each.sum(axis=1) for each in self.tables], counts.noise["totals"])
        for way, noisy in enumerate(counts.cells):
            groups = [table[ways == way] for table in self.tables]
            exact = groups if way else [each.sum(axis=1)[:, None] for each in groups]
            score += self._scored(noisy, exact, counts.noise["detail"])
        return [score, *counts.totals[:, 0].tolist()]

    @staticmethod
    def _scored(noisy: Counts, exact: list[Counts], mechanism: Additive) -> float:
        assert isinstance(mechanism, DiscreteLaplace)
        one, other = (np.abs(noisy - each).sum() for each in exact)
        return float(other - one) / float(mechanism.scale)


def detail_entries() -> tuple[Entry, ...]:
    """Two groups at ε = 1, of which everything is seen, beside a person who is in both.

    >>> [entry.name for entry in detail_entries()]
    ['DetailTables of two stages']
    """
    spend = pure(1)
    crowd = np.array([[40, 40], [10, 10]])
    more = crowd + np.array([[1, 0], [1, 0]])
    return (
        Entry(
            name="DetailTables of two stages",
            group="statistical tables",
            shown="DetailTables by discreet.census.detail(session, spec, spend=dp.pure(1))",
            mechanism=_Details(spend, (more, crowd)),
            pairs=((more, crowd),),
            claim=spend,
            kind=DetailTables,
            samples=8_000,
            note="a person more is one more in each of two groups, in both stages; a group near its threshold is shown "
            "in either way; answers are scored by who knows both tables",
        ),
    )
