"""A question planned at the desk, from a plan without a spend, is the one that a session prepares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from discreet.combined import Statement
from discreet.errors import DiscreetError
from discreet.privacy import Loss, approx, pure, rho
from discreet.query import in_dialect
from discreet.server.desk import Ask, Refusal

QUESTIONS: list[tuple[str, Loss]] = [
    ("SELECT COUNT(*) AS n FROM visits", pure(1)),
    ("SELECT region, AVG(cost) AS c, COUNT(*) AS n FROM visits GROUP BY region", pure("0.3")),
    ("SELECT region, AVG(cost) AS c FROM visits GROUP BY ROLLUP (region)", pure("0.3")),
    ("SELECT MEDIAN(cost) AS m, SUM(cost) / COUNT(*) AS r FROM visits WHERE cost > 5", pure(1)),
    ("SELECT ROUND(cost) AS k, COUNT(*) AS n FROM visits GROUP BY k", approx(1, "1e-6")),
    ("SELECT person % 7 AS k, COUNT(*) AS n FROM visits GROUP BY k", approx(1, "1e-6")),
    ("SELECT region, COUNT(*) AS n FROM visits GROUP BY region ORDER BY n DESC LIMIT 1", pure(1)),
    ("SELECT region, COUNT(*) AS n FROM visits GROUP BY region HAVING COUNT(*) > 10", rho("0.01")),
    ("SELECT * FROM visits PIVOT (COUNT(*) FOR region IN ('north', 'south'))", pure(1)),
    ("SELECT COUNT(*) AS n FROM visits UNION ALL SELECT COUNT(*) AS n FROM visits WHERE cost > 3", pure(1)),
    ("WITH a AS (SELECT region, COUNT(*) AS n FROM visits GROUP BY region) SELECT MAX(n) AS m FROM a", pure(1)),
    ("SELECT DISTINCT region FROM visits", pure(1)),
    ("SELECT COUNT(*) AS n, COUNT(DISTINCT region) AS r, MODE(region) AS m FROM visits", pure(1)),
]
REFUSED: list[tuple[str, Loss]] = [
    ("SELECT person, COUNT(*) AS n FROM visits GROUP BY person", pure(1)),
    ("SELECT COUNT(*) AS n FROM visits", pure("1e-30")),
    ("SELECT * FROM visits", pure(1)),
    ("SELECT cost FROM visits UNION SELECT 1", pure(1)),
    ("SELECT", pure(1)),
]


def answer_or_words(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except DiscreetError as error:
        return str(error)


@pytest.mark.sampled
@pytest.mark.parametrize(("query", "spend"), QUESTIONS)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_it_is_the_same_question(team: Any, query: str, spend: Loss, bias: bool, dialect: str) -> None:
    desk = team.desk
    prepared = answer_or_words(
        lambda: desk._session.prepare(Statement(in_dialect(query, dialect, desk.policy), spend, bias))
    )
    if isinstance(prepared, str):
        assert answer_or_words(lambda: desk.quote(team.ada, Ask(query, spend, dialect, bias))) == prepared
        return
    planned = desk._planner.plan(Ask(query, spend, dialect, bias))
    assert (planned.prepared.hash, planned.prepared.loss) == (prepared.hash, prepared.loss)
    assert type(planned.prepared) is type(prepared)
    assert planned.plan.explain() == prepared.plan.explain()
    bare = desk._planner.plan(Ask(query, None, dialect, bias))
    assert bare.question == planned.question


@pytest.mark.parametrize(("query", "spend"), REFUSED)
def test_it_is_refused_in_the_same_words(team: Any, query: str, spend: Loss) -> None:
    with pytest.raises(DiscreetError) as error:
        team.desk._session.prepare(Statement(query, spend))
    with pytest.raises(Refusal) as refusal:
        team.desk.quote(team.ada, Ask(query, spend))
    assert str(refusal.value) == str(error.value)
