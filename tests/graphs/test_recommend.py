"""What is recommended for a graph by public facts, and whether the errors are those that releases have."""

from __future__ import annotations

import math
from unittest.mock import patch

import numpy as np
import pytest

import discreet as dp
from discreet.advice import _advisors, register_advisor
from discreet.errors import ParameterError
from discreet.graphs import Graph, Ladder, SmoothCount, counts, recommend_count
from discreet.graphs.counts import Stars, Triangles
from discreet.graphs.edge import public_graphs

SPENDS = [dp.pure(1), dp.approx(1, 1e-6), dp.rho("0.1"), dp.mu("0.5")]
SUBGRAPHS = ["triangles", "2-stars", "3-stars", "4-cycles", "4-cliques", "average clustering", "degree products"]


@pytest.mark.parametrize("statistic", SUBGRAPHS)
@pytest.mark.parametrize("spend", SPENDS, ids=str)
def test_every_option_is_ready_and_within_the_spend(statistic: str, spend: dp.Loss) -> None:
    advice = dp.recommend(statistic, nodes=80, spend=spend)
    assert [each.error for each in advice.options] == sorted(each.error for each in advice.options)
    assert advice.title.startswith(f"{statistic} of 80 vertices at ")
    for option in advice.options:
        assert option.mechanism.loss().fits(spend)
        assert option.error > 0 and option.basis in {"exact", "computed"}
        option.mechanism.release(public_graphs(80)[1])
    names = {option.name.split()[0] for option in advice.options} | {each.name for each in advice.left_out}
    assert names >= {"SmoothCount", "Ladder", "GlobalSensitivity", "ProposeTestRelease"}


def test_well_known_winners() -> None:
    """Pure ε: noise of Pareto tails, at half of the ladder's error. In μ the ladder alone is scaled to the graph."""
    for nodes in (300, 4_000):
        for spend in SPENDS[:2]:
            advice = dp.recommend("triangles", nodes=nodes, spend=spend)
            errors = {each.name: each.error for each in advice.options}
            assert advice.options[0].name == "SmoothCount"
            assert errors["SmoothCount"] < 0.7 * errors["Ladder"] < errors["GlobalSensitivity"]
    assert advice.mechanism == SmoothCount(Triangles(4_000), 1)
    assert dp.recommend("triangles", nodes=4_000, spend=dp.mu(1)).options[0].name == "Ladder"


@pytest.mark.parametrize("statistic", ["triangles", "2-stars"])
def test_errors_are_those_of_releases(statistic: str) -> None:
    """Mean squares over 600 releases within 0.4 to 2 of what is stated: 6.5 standard deviations for Laplace noise."""
    sample = public_graphs(100)[1]
    advice = dp.recommend(statistic, nodes=100, spend=dp.approx(2, 1e-4), sample=sample)
    value = int(counts.triangles(sample) if statistic == "triangles" else counts.stars(sample))
    compared = 0
    for option in advice.options:
        match option.mechanism:
            case SmoothCount() as smooth:
                draws = [smooth.release(sample) for _ in range(600)]
            case Ladder() as ladder:
                draws = ladder.law(sample).draw(600)
            case other if option.name in {"GlobalSensitivity", "ProposeTestRelease"}:
                answers = [other.release(sample) for _ in range(600)]
                draws = [each for each in answers if each is not None]
                assert len(draws) > 580  # a refusal has probability 1e-6
            case _:
                continue
        assert 0.4 < np.mean((np.array(draws, float) - value) ** 2) / option.error**2 < 2
        compared += 1
    assert compared == 4


def test_what_an_edge_moves_by_one_has_noise_of_a_public_scale() -> None:
    for statistic in ("edges", "components", "largest degree", "degeneracy"):
        for spend in SPENDS:
            advice = dp.recommend(statistic, nodes=50, spend=spend)
            assert advice.error == pytest.approx(advice.mechanism.std)
            assert isinstance(advice.mechanism.release(7), int) and advice.mechanism.loss(1).fits(spend)
    edges, density = (dp.recommend(each, nodes=50, spend=dp.pure(1)) for each in ("edges", "density"))
    assert density.error == pytest.approx(edges.error / math.comb(50, 2))


def test_errors_of_a_mean_are_in_its_unit() -> None:
    """Half a percent of the average clustering of thousands, and not 2**32 times as many."""
    assert dp.recommend("average clustering", nodes=2_000, spend=dp.pure(1)).error < 0.02


def test_the_graphs_are_public_and_the_same_every_time() -> None:
    for nodes in (1, 2, 3, 50, 3_000):
        first, second = public_graphs(nodes), public_graphs(nodes)
        assert all((a.ends == b.ends).all() and a.vertices == nodes for a, b in zip(first, second, strict=True))
    power_law, groups = public_graphs(3_000)
    assert 17 < 2 * power_law.edges / 3_000 < 21 and 17 < 2 * groups.edges / 3_000 < 21
    assert power_law.degrees().max() > 200 and groups.degrees().max() < 40
    assert 3 * counts.triangles(groups) / counts.stars(groups) > 0.4
    large = public_graphs(50_000)
    assert all(graph.vertices == 50_000 and graph.ends.max() < 20_000 for graph in large)


def test_a_power_law_is_as_if_its_edges_were_drawn() -> None:
    """The local sensitivity of triangles is that of random edges with the same degrees, and not of a lattice."""
    power_law, draws = public_graphs(3_000)[0], np.random.default_rng(1)
    ends = np.repeat(np.arange(3_000), power_law.degrees())[draws.permutation(2 * power_law.edges)]
    mixed = Graph.from_pairs(ends.reshape(-1, 2), 3_000)
    ours, random = (Triangles(3_000).steps(graph)(0) for graph in (power_law, mixed))
    assert 0.7 < ours / random < 1.4
    assert 0.7 < counts.triangles(power_law) / counts.triangles(mixed) < 1.4


def test_a_sample_replaces_the_made_up_graphs() -> None:
    sparse = Graph.from_pairs([(a, a + 1) for a in range(99)])
    advice = dp.recommend("triangles", nodes=500, spend=dp.pure(1), sample=sparse)
    assert advice.error < dp.recommend("triangles", nodes=500, spend=dp.pure(1)).error
    same = dp.recommend(Triangles(500), nodes=500, spend=dp.pure(1), sample=sparse)
    assert same.error == advice.error and same.statistic == "Triangles"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"statistic": "squares"}, "no statistic 'squares'"),
        ({"statistic": 7}, "by its name"),
        ({"statistic": ["triangles"]}, "by its name"),
        ({"statistic": "global clustering"}, "triangles, 2-stars"),
        ({"statistic": Stars(9)}, "9 vertices"),
        ({"nodes": 0}, "nodes"),
        ({"nodes": True}, "nodes"),
        ({"nodes": 2}, "so few vertices"),
        ({"n": 10}, "leave out"),
        ({"bounds": (0, 1)}, "leave out"),
        ({"relation": "substitute"}, "leave out"),
        ({"sample": Graph.from_pairs([(0, 99)])}, "at most 50 vertices"),
        ({"sample": [(0, 1)]}, "public discreet.graphs.Graph"),
        ({"nodes": None}, "takes nodes"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict, words: str) -> None:
    given = {"statistic": "triangles", "nodes": 50, "spend": dp.pure(1)} | arguments
    with pytest.raises(ParameterError, match=words):
        dp.recommend(given.pop("statistic"), **given)


def test_an_advisor_is_registered_once_and_missing_ones_are_told() -> None:
    assert register_advisor("nodes", recommend_count) is recommend_count
    with pytest.raises(ValueError, match="already"):
        register_advisor("nodes", lambda *_, **__: None)  # type: ignore[arg-type, return-value]
    with (
        patch.object(_advisors, "_ADVISORS", {}),
        patch.object(_advisors, "entry_points", lambda **_: ()),
        pytest.raises(ParameterError, match="no installed package"),
    ):
        dp.recommend("triangles", nodes=50, spend=dp.pure(1))


def test_the_installed_package_names_the_advisor() -> None:
    """What pyproject.toml names under the argument is what importing it registers."""
    import importlib
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ((argument, place),) = project["entry-points"][_advisors.ENTRY_POINTS].items()
    module, name = place.split(":")
    assert _advisors.advisor(argument) is getattr(importlib.import_module(module), name)
