"""Which mechanism errs least for a statistic of a graph, by public facts alone: `recommend` where it is given nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.advice import (
    Option,
    Recommendation,
    Task,
    compare,
    numeric_frameworks,
    register_advisor,
    root_mean_square,
)
from discreet.errors import ParameterError, QueryError
from discreet.graphs._graph import Graph
from discreet.graphs.counts import Count
from discreet.graphs.edge._ladder import Ladder
from discreet.graphs.edge._measurements import COMPOUND, measurements, subgraph_count
from discreet.graphs.edge._smooth_count import SmoothCount
from discreet.prices import Additive
from discreet.privacy import Loss
from discreet.sensitivity import smooth

__all__ = ["public_graphs", "recommend_count"]

_MEAN_DEGREE = 20
_EXPONENT = 2.4
_MOST_JOINED = 20_000
_MOST_NODES = 10**8
"""So many vertices of a made-up graph have edges, at most."""
_REWIRED = 0.2


def recommend_count(statistic: str | Count, *, nodes: int, spend: Loss, sample: Any = None) -> Recommendation:
    """The mechanisms that count something in a graph whose edges are protected, the one that errs least first.

    Costs no privacy and sees no private graph. Errors are roots of mean squares, computed from the law of each
    mechanism on two made-up graphs of a mean degree of 20: one whose degrees fall as a power law of exponent 2.4, and
    one of groups of 21, all joined, of whose edges a fifth lead elsewhere. Of more than 20,000 vertices only so many
    have edges. Or they are computed on a public `sample`.

    Parameters
    ----------
    statistic
        ``"triangles"``, ``"2-stars"``, ``"4-cycles"``, ``"4-cliques"``, ``"average clustering"`` and whatever else
        `PrivateGraph.count` counts at once, or a `discreet.graphs.counts.Count` of so many vertices.
    nodes
        The public number of vertices, 100 million at most.
    spend
        What one release may cost.
    sample
        A public `Graph` that looks like the private one, of any number of vertices up to `nodes`. Never the private
        graph.

    Raises `ParameterError` for an argument out of its range, and for a statistic that is made of several counts.

    >>> from discreet.privacy import pure
    >>> advice = recommend_count("triangles", nodes=1_000, spend=pure(1))
    >>> [option.name for option in advice.options][:3]
    ['SmoothCount', 'SmoothSensitivity (student_t)', 'Ladder']
    """
    if isinstance(nodes, bool) or not isinstance(nodes, int) or not 1 <= nodes <= _MOST_NODES:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"nodes must be the public number of vertices, from 1 to {_MOST_NODES:,}, got {nodes!r}")
    if not isinstance(statistic, str | Count):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError("name a statistic of a graph by its name, such as 'triangles', or bring a Count")
    graphs = public_graphs(nodes) if sample is None else (_padded(sample, nodes),)
    if isinstance(statistic, str) and statistic in COMPOUND:
        parts = ", ".join(COMPOUND[statistic])
        raise ParameterError(f"{statistic} is made of several counts, {parts}; ask for each of them with its share")
    try:
        count = statistic if isinstance(statistic, Count) else subgraph_count(statistic, nodes)
    except QueryError as error:
        return _moved_by_one(str(statistic), nodes, spend, error)
    if count.vertices != nodes:
        raise ParameterError(f"this statistic is for a graph of {count.vertices} vertices, and nodes is {nodes}")
    if not count.most:
        raise ParameterError("this statistic is the same for all graphs of so few vertices: it needs no mechanism")
    name = statistic if isinstance(statistic, str) else None
    task = Task(count, name, nodes, None, spend, "add_remove", graphs)
    frameworks = (("SmoothCount", _with_smooth_count), ("Ladder", _with_ladder), *numeric_frameworks(spend))
    advice = compare(task, frameworks, "vertices")
    options = tuple(replace(each, error=each.error * float(count.unit)) for each in advice.options)
    return replace(advice, options=options)


register_advisor("nodes", recommend_count)


def public_graphs(nodes: int) -> tuple[Graph, Graph]:
    """Two made-up graphs of so many vertices: degrees by a power law, and groups. The same every time.

    >>> power_law, groups = public_graphs(2_000)
    >>> int(power_law.degrees().max()), int(groups.degrees().max())
    (223, 27)
    """
    joined = min(nodes, _MOST_JOINED)
    return _power_law(joined, nodes), _groups(joined, nodes)


def _power_law(joined: int, nodes: int) -> Graph:
    """Ends are spread in proportion to degrees, rank**(−1/1.4), and at most the root of twenty times the vertices.

    Above that root, vertices of the highest degree would be joined to each other by several edges.
    """
    largest = (_MEAN_DEGREE * joined) ** 0.5
    least = _MEAN_DEGREE * (_EXPONENT - 2) / (_EXPONENT - 1)
    degrees = np.minimum(largest, least * (joined / np.arange(1, joined + 1)) ** (1 / (_EXPONENT - 1)))
    below = np.cumsum(degrees)
    rows = np.arange(joined * _MEAN_DEGREE // 2)
    ends = [np.searchsorted(below, _scattered(rows, each) * below[-1], side="right") for each in (0, 1)]
    return Graph.from_pairs(np.minimum(np.column_stack(ends), joined - 1), nodes)


def _groups(joined: int, nodes: int) -> Graph:
    """All pairs within groups of consecutive vertices; one edge in five has another end, anywhere."""
    place, step = np.divmod(np.arange(joined * _MEAN_DEGREE), _MEAN_DEGREE)
    other = place + step + 1
    inside = (other < joined) & (place // (_MEAN_DEGREE + 1) == other // (_MEAN_DEGREE + 1))
    place, other = place[inside], other[inside]
    rows = np.arange(len(place))
    anywhere = (_scattered(rows, 0) * joined).astype(np.int64)
    return Graph.from_pairs(np.column_stack([place, np.where(_scattered(rows, 1) < _REWIRED, anywhere, other)]), nodes)


def _scattered(rows: NDArray[np.int64], stream: int) -> NDArray[np.float64]:
    """A number from 0 to 1 for each row, the same every time and as if drawn: a hash of the row, for made-up graphs.

    Source: the mixing of SplitMix64; Steele, Lea and Flood 2014.
    """
    mixed = (rows.astype(np.uint64) * np.uint64(2) + np.uint64(stream + 1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)) / 2.0**53


def _padded(sample: Any, nodes: int) -> Graph:
    """The sample with vertices that have no edge, up to the public number."""
    if not isinstance(sample, Graph) or sample.vertices > nodes:
        raise ParameterError(f"sample must be a public discreet.graphs.Graph of at most {nodes} vertices")
    return Graph(nodes, sample.ends)


def _moved_by_one(statistic: str, nodes: int, spend: Loss, unknown: QueryError) -> Recommendation:
    """What an edge moves by 1 at most: noise of a public scale, and the best there is in the currency of the spend."""
    try:
        (only,) = measurements(statistic, nodes, spend)
    except QueryError:
        raise ParameterError(str(unknown)) from None
    assert isinstance(only.mechanism, Additive)
    error = only.mechanism.std
    if statistic == "density":
        error /= max(nodes * (nodes - 1) // 2, 1)
    why = "an edge moves it by 1 at most: noise of a public scale, on the exact number"
    return Recommendation(statistic, nodes, spend, (Option(only.mechanism, error, "exact", why),), (), "vertices")


def _count_of(task: Task) -> Count:
    assert isinstance(task.statistic, Count)
    return task.statistic


def _with_smooth_count(task: Task) -> Iterator[Option]:
    mechanism = SmoothCount.calibrate(task.spend, _count_of(task))
    errors = [mechanism.std(smooth(mechanism.statistic, sample, mechanism.beta)) for sample in task.samples]
    why = f"noise for the graph at hand, tails of exponent {mechanism.shape}: what a graph of a session is counted with"
    yield Option(mechanism, root_mean_square(errors), "computed", why)


def _with_ladder(task: Task) -> Iterator[Option]:
    mechanism = Ladder.calibrate(task.spend, _count_of(task))
    errors = [mechanism.law(sample).root_mean_square_error for sample in task.samples]
    yield Option(mechanism, root_mean_square(errors), "computed", "integers in rungs around the count")
