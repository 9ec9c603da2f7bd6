"""What was asked when the stored files were made: asked again, it must be the same question."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

import discreet as dp
from discreet import local
from discreet import mechanisms as of
from discreet.policy import load_policy
from discreet.release import MechanismQuestion, Terms
from discreet.sensitivity import Mode, Norms

KEY = bytes(range(32))
TABLES = {
    "orders": pa.table(
        {
            "person": [i % 40 for i in range(400)],
            "city": [("Paris", "Lyon", "Nice")[i % 3] for i in range(400)],
            "price": [float(i % 50) for i in range(400)],
        }
    )
}
POLICY: dict[str, Any] = {
    "version": "2026-11",
    "people": "customers",
    "budget": {"epsilon": 1000, "delta": "1/10"},
    "tables": {
        "orders": {
            "unit": "person",
            "max_rows": 20,
            "max_groups": 3,
            "columns": {
                "person": {"type": "int"},
                "city": {"type": "string", "keys": ["Paris", "Lyon", "Nice"]},
                "price": {"type": "float", "bounds": [0, 50]},
            },
        }
    },
}
BUDGETS = {
    "pure": dp.pure(1000),
    "approx": dp.approx(1000, "1/10"),
    "rho": dp.rho(1000, "1/10"),
    "mu": dp.mu(1000, "1/10"),
}
SPENDS = {"pure": dp.pure(2), "approx": dp.approx(2, "1/1000"), "rho": dp.rho(2, "1/1000"), "mu": dp.mu(2, "1/1000")}
QUERY = "SELECT city, COUNT(*) AS n, AVG(price) AS p FROM orders GROUP BY city ORDER BY city"
QUERIES = {
    "means": QUERY,
    "quantile": "SELECT MEDIAN(price) AS m, SUM(price) / COUNT(*) AS p FROM orders",
    "rollup": "SELECT city, COUNT(*) AS n FROM orders GROUP BY ROLLUP (city) HAVING COUNT(*) > 3",
    "first": "SELECT city, COUNT(*) AS n FROM orders GROUP BY city ORDER BY COUNT(*) DESC LIMIT 1",
    "joined": "SELECT COUNT(*) AS n FROM orders a JOIN orders b ON a.person = b.person AND a.city = b.city",
}


def questions(currency: str) -> dict[str, Callable[..., Any]]:
    """One question of every kind."""
    spend = SPENDS[currency]
    found: dict[str, Callable[..., Any]] = {
        name: (lambda session, query=query, **more: session.sql(query, spend=spend, **more))
        for name, query in QUERIES.items()
    }
    found["biased"] = lambda session, **more: session.sql(QUERY, spend=spend, bias=True, **more)
    found["suggestion"] = lambda session, **more: session.suggest("orders", "price", spend=spend, **more)
    found["mechanism"] = lambda session, **more: session.release(
        of.DiscreteLaplace(8), [42, 2**70], sensitivity=Norms(2, 2), spend=spend, name="two", **more
    )
    return found


def seen(release: Any) -> Any:
    """What an analyst sees of a release, as JSON."""
    found: dict[str, Any] = {"certificate": dict(release.certificate), "bytes": len(release.to_bytes())}
    if isinstance(release, dp.Release):
        table = release.to_arrow()
        found["rows"] = {name: list(map(repr, table.column(name).to_pylist())) for name in table.column_names}
        found["errors"] = {
            name: list(map(repr, map(float, release.error(name)))) for name in table.column_names if name != "city"
        }
    elif isinstance(release, dp.Suggestion):
        found["toml"] = release.to_toml()
    else:
        found["value"] = repr([int(each) for each in release.value])
    return json.loads(json.dumps(found))


def mechanisms() -> Iterator[tuple[Any, Any, str]]:
    """Every mechanism, with the sensitivity that its loss takes, and a currency that can say it."""
    small = dp.approx(1, "1e-6")
    yield of.AboveThreshold(10, 2, 1), None, "pure"
    yield of.BoundedLaplace.calibrate(dp.pure(1), 1, bounds=(0, 10)), 1, "pure"
    yield of.DiscreteGaussian(10), Norms(3, 5), "rho"
    yield of.DiscreteLaplace("0.7"), Norms(3, 5), "pure"
    yield of.Exponential(1, 1), None, "rho"
    yield of.Gaussian(10), 2, "mu"
    yield of.Laplace(3), 2.5, "pure"
    yield of.MostFrequent.calibrate(dp.pure(2), mode=Mode(("no", "a.b"))), None, "pure"
    yield of.OnGrid(of.DiscreteLaplace(10), step="0.25", bounds=(0, 10), entries=3), 1, "pure"
    yield of.PartitionSelection(1, "1e-6", 3), None, "approx"
    yield of.PermuteAndFlip(1, 1), None, "pure"
    yield of.ProposeTestRelease("median", bound="0.001", bounds=(0, 1), spend=small), None, "approx"
    yield of.Quantiles(["1/4", "1/2", "3/4"], (0, 100), 1, step=1, method="joint"), None, "rho"
    yield of.RandomizedResponse("0.75"), None, "pure"
    yield of.ReportNoisyMax.calibrate(dp.pure(1), 1), None, "pure"
    yield of.SampleAndAggregate(statistics.fmean, chunks=9, bounds=(0, 1), spend=dp.pure(1)), None, "pure"
    yield of.Sampled(of.DiscreteLaplace(1), "0.1", len), 1, "pure"
    yield of.Shuffled(of.RandomizedResponse("0.75"), 10_000), None, "pure"
    yield of.Staircase.calibrate(dp.pure(1), 1), 1, "pure"
    yield of.ThresholdedCounts(of.DiscreteLaplace(1), 15), None, "approx"
    yield of.ToeplitzCounter.calibrate(dp.rho(1), 1, steps=64), 1, "rho"
    yield of.TopK(3, 1, Norms(3, 5)), None, "rho"
    yield of.TreeCounter(64, 100), 1, "pure"
    yield of.TruncatedLaplace.calibrate(small, 1), 1, "approx"
    for statistic in ("count", "count_distinct", "sum", "mean", "median", "variance", "mode", "slope"):
        ends = {} if statistic in ("count", "count_distinct", "mode") else {"bounds": (0, 1)}
        for made in (of.GlobalSensitivity, of.SmoothSensitivity):
            try:
                yield (
                    made(statistic, **ends, spend=small if made is of.SmoothSensitivity else dp.rho(1)),
                    None,
                    ("approx" if made is of.SmoothSensitivity else "rho"),
                )
            except dp.ParameterError:
                continue


def asked(mechanism: Any, sensitivity: Any, currency: str) -> dict[str, Any]:
    """What a certificate says of a mechanism, and the hash by which it is found again."""
    crowd = isinstance(mechanism, of.RandomizedResponse | of.Shuffled)
    policy = load_policy({**POLICY, "relation": "substitute" if crowd else "add_remove"})
    terms = Terms(policy, currency, lambda _: None)
    prepared = MechanismQuestion(mechanism, None, sensitivity, name="golden").prepare(terms)
    return json.loads(json.dumps(prepared.statement(1)))


def schemes() -> dict[str, tuple[Any, Any]]:
    """Every scheme, with values to report."""
    few = [i % 4 for i in range(20)]
    words = ["caa", "bab", "a", "abc"] * 5
    spend: dict[str, Any] = {"spend": dp.pure("1/2"), "minimum": 1, "commitment": local.commitment(KEY)}
    found: list[tuple[Any, Any]] = [
        (local.BasicRappor.from_epsilon(domain=4, epsilon=2, longitudinal="once"), few),
        (local.Rappor(bits=8, hashes=2, cohorts=2, f="0.25", p="0.35", q="0.65"), words),
        (local.KaryRandomizedResponse(["Paris", "Lyon", "Nice", "Metz"], "1.5"), ["Paris", "Metz"] * 9),
        (local.SymmetricUnary(domain=4, epsilon="1.5"), few),
        (local.OptimizedUnary(domain=4, epsilon=1, longitudinal="memoize"), few),
        (local.LocalHashing(domain=5, epsilon=2), few),
        (local.Warner(p="0.6"), [True, False] * 9),
        (local.HadamardResponse(domain=6, epsilon=2), few),
        (local.ProjectiveGeometry(domain=12, epsilon=2), few),
        (local.SubsetSelection(domain=6, epsilon=2), few),
        (local.CountMeanSketch(2, hashes=3, width=8, domain=4), few),
        (local.HadamardCountMeanSketch(2, hashes=3, width=8, domain=4), few),
        (local.Duchi((0, 9), 1), few),
        (local.Piecewise((0, 9), 1), few),
        (local.Hybrid((0, 9), 2), few),
        (local.SquareWave((0, 9), 1), few),
        (local.PrivUnit(dimension=3, epsilon=4), [[1.0, 0.0, 0.0]] * 6),
        (
            local.SampledAttributes(
                {"os": local.HadamardResponse(["linux", "mac"], 2), "hours": local.Hybrid((0, 24), 2)}
            ),
            {"os": ["linux", "mac"], "hours": [1, 23]},
        ),
        (local.Marginals({"os": ["linux", "mac"], "age": 4}, epsilon=2), {"os": ["linux", "mac"], "age": [0, 3]}),
        (local.KeyValues(["bus", "car", "train"], bounds=(0, 90), epsilon=4, padding=2), [{"bus": 3}, {}]),
        (local.PrefixExtending(4, length=4, alphabet="abc", rows=8), words),
        (local.TreeHist(4, length=4, alphabet="abc", rows=8), words),
        (
            local.SequenceFragmentPuzzle(
                4, length=4, alphabet="abc", pieces=8, keep=30, rows=8, width=8, word_rows=8, word_width=8
            ),
            words,
        ),
        (local.TwoServerCount(**spend), [0, 1] * 5),
        (local.TwoServerSum(bound=200, **spend), few),
        (local.TwoServerHistogram(domain=4, **spend), few),
        (local.TwoServerSums(size=3, bound=5, **spend), [[1, 2, 3]] * 4),
        (local.TwoServerSets(domain=5, most=2, **spend), [[0, 3], [1]]),
    ]
    return {type(scheme).__name__: (scheme, values) for scheme, values in found}
