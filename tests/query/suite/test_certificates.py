"""Every query that is answered states the loss that follows from its mechanisms, and no less noise would do.

A mutant is a certificate with one number changed so that the noise would be smaller, the sensitivity another, or the
price lower. It must not pass.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.errors import LedgerError, ParameterError, QueryError
from discreet.ledger.crypto._signing import check_signature
from discreet.policy import Policy, load_policy
from discreet.privacy import to_json
from discreet.query import Plan, make_plan, plan_with_bias, public_reader
from discreet.query._certificate_levels import level_to_json
from discreet.release import parse_release_file, recompute_loss, verify_loss
from suite.cases import CASES
from suite.databases import shop_policy, shop_tables, sources
from suite.features import landed

ANSWERED = [each.query for each in CASES if landed(each.needs)]
BUDGET = {"epsilon": 10**14, "delta": 0.9}
SPENDS = {
    "pure": dp.pure("0.5"),
    "approx": dp.approx("0.5", "1e-6"),
    "rho": dp.rho("0.01", "1e-6"),
    "mu": dp.mu("0.2", "1e-6"),
}
LESS, MUCH_LESS, MORE = Fraction(99, 100), Fraction(9, 10), Fraction(101, 100)
Mutant = tuple[tuple[Any, ...], Any]


def statement(plan: Plan) -> dict[str, Any]:
    """The part of a certificate that its loss follows from."""
    assert plan.loss is not None
    found = {
        "kind": "query",
        "relation": plan.unit.relation,
        "loss": to_json(plan.loss),
        "levels": [level_to_json(level) for level in plan.levels],
        "bias_levels": [level_to_json(level) for each in plan.bias for level in each.plan.levels],
    }
    return json.loads(json.dumps(found))


def times(text: str, factor: Fraction) -> str:
    return str(Fraction(text) * factor)


def mutants(told: dict[str, Any]) -> Iterator[Mutant]:
    for group in ("levels", "bias_levels"):
        for i, level in enumerate(told[group]):
            yield from (((group, i, *path), value) for path, value in _of_level(level))
    thresholds = any(_by_threshold(level) for level in told["levels"])
    yield from ((("loss", name), times(text, LESS)) for name, text in _paid(told["loss"], delta=not thresholds))


def _of_level(level: dict[str, Any]) -> Iterator[Mutant]:
    useless = any(
        measure["l1"] == 0 for measure in level["measures"]
    )  # a constant: its share of the spend buys nothing
    for i, measure in enumerate(level["measures"]):
        name = "scale" if "scale" in measure else "sigma"
        if not useless:
            yield ("measures", i, name), times(measure[name], LESS if not _by_threshold(level) else MUCH_LESS)
        for norm in ("l1", "l2_squared", "linf"):
            yield ("measures", i, norm), measure[norm] + 1
            yield ("measures", i, norm), measure[norm] - 1
    for i, quantile in enumerate(level["quantiles"]):
        if level["loss"]["kind"] != "mu":  # there, cuts that follow one another are paid a little more than they cost
            yield ("quantiles", i, "row_epsilon"), times(quantile["row_epsilon"], MORE)
        yield ("quantiles", i, "row_moves"), quantile["row_moves"] - 1
    discovery = level["key_discovery"]
    if discovery is not None:
        yield ("key_discovery",), None
        yield ("key_discovery", "keys"), discovery["keys"] - 1
        yield ("keys",), []
        chosen = {"mechanism": "TopK", "k": 1, "epsilon": "1/100", "sensitivity": "1", "monotone": True, "measure": 0}
        yield ("top_keys",), chosen
        if discovery["mechanism"] == "PartitionSelection":
            yield ("key_discovery", "epsilon"), times(discovery["epsilon"], MORE)
            yield ("key_discovery", "delta"), times(discovery["delta"], MORE)
        else:
            yield ("key_discovery", "threshold"), str(Fraction(discovery["threshold"]) * 9 / 10)
            yield ("key_discovery", "by"), {"measure": len(level["measures"])}
            yield ("key_discovery", "by"), discovery["by"] | {"sigma": "1000"}
            sums = [i for i, measure in enumerate(level["measures"]) if measure["of"] == "Sum"]
            yield from ((("key_discovery", "by"), {"measure": i}) for i in sums)
    if level["top_keys"] is not None:
        yield ("top_keys", "epsilon"), times(level["top_keys"]["epsilon"], MORE)
        yield ("top_keys", "sensitivity"), times(level["top_keys"]["sensitivity"], LESS)
        yield ("top_keys", "k"), level["top_keys"]["k"] + 1
        yield ("top_keys", "monotone"), not level["top_keys"]["monotone"]
    if not useless and not level["quantiles"]:
        delta = not _by_threshold(level)
        yield from ((("loss", name), times(text, LESS)) for name, text in _paid(level["loss"], delta=delta))
    yield from ((("loss", name), times(text, MORE)) for name, text in _paid(level["loss"]))


def _by_threshold(level: dict[str, Any]) -> bool:
    """A threshold is in steps of 1/1024, so that it may take a little less than its δ."""
    return level["key_discovery"] is not None and level["key_discovery"]["mechanism"] == "ThresholdedCounts"


def _paid(loss: dict[str, str], *, delta: bool = True) -> Iterator[tuple[str, str]]:
    names = {"kind"} if delta else {"kind", "delta"}
    yield from ((name, text) for name, text in loss.items() if name not in names and text != "0")


def changed(told: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    other = copy.deepcopy(told)
    at: Any = other
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = value
    return other


def alive(told: dict[str, Any]) -> list[Mutant]:
    found: list[Mutant] = []
    for path, value in mutants(told):
        try:
            verify_loss(changed(told, path, value))
        except LedgerError:
            continue
        found.append((path, value))
    return found


def plans(policy: Policy, spend: dp.Loss, queries: list[str], *, bias: bool) -> Iterator[Plan]:
    with closing(DuckDB(shop_tables(), policy)) as engine:
        for query in queries:
            try:
                yield (plan_with_bias if bias else make_plan)(query, policy, spend, public_reader(engine))
            except (QueryError, ParameterError):
                continue  # private keys need a delta, and not every query has a bias


def check(policy: Policy, spend: dp.Loss, queries: list[str], *, bias: bool, every: int) -> int:
    asked = 0
    for asked, plan in enumerate(plans(policy, spend, queries, bias=bias), 1):
        told = statement(plan)
        assert verify_loss(told) is None, plan.sql
        assert plan.loss is not None and recompute_loss(told).fits(plan.loss), plan.sql
        if asked % every == 0:
            assert alive(told) == [], plan.sql
    return asked


@pytest.mark.sampled
@pytest.mark.parametrize("currency", SPENDS)
@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
def test_stated_losses_follow(relation: str, currency: str) -> None:
    policy = load_policy(shop_policy(BUDGET)).model_copy(update={"relation": relation})
    first = list(SPENDS).index(currency) + 4 * (relation == "substitute")
    queries = ANSWERED[first::20]
    assert check(policy, SPENDS[currency], queries, bias=False, every=3) >= 13
    assert check(policy, SPENDS[currency], queries, bias=True, every=6) >= 3


@pytest.mark.soak
@pytest.mark.parametrize("currency", SPENDS)
@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
def test_all_stated_losses_follow(relation: str, currency: str) -> None:
    policy = load_policy(shop_policy(BUDGET)).model_copy(update={"relation": relation})
    assert check(policy, SPENDS[currency], ANSWERED, bias=False, every=1) >= 300
    assert check(policy, SPENDS[currency], ANSWERED, bias=True, every=7) >= 100


def test_releases_are_known_again_from_their_bytes(tables: dict[str, pa.Table]) -> None:
    policy = shop_policy(BUDGET)
    with dp.connect(sources(tables, policy), policy) as session:
        for query in ANSWERED[::30]:
            release = session.sql(query, dp.approx(10, "1e-6"))
            filed = parse_release_file(release.to_bytes())
            assert filed.digests == {name: release.certificate[name] for name in ("answer", "error_bars")}, query
            assert parse_release_file(dp.Release.from_bytes(release.to_bytes()).to_bytes()).digests == filed.digests, (
                query
            )
            assert check_signature(filed.certificate)
            assert verify_loss(filed.certificate) is None
