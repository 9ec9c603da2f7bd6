"""Pictures of a model: what each input adds, and what its steps cost. A tree is text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.charts import Coefficient, Share, Term, coefficient_chart, share_chart, term_chart
from discreet.errors import ParameterError, QueryError
from discreet.learn._inputs import Inputs
from discreet.learn._steps import steps_from_json
from discreet.learn._verify import step_prices
from discreet.learn.algorithms import (
    AdditiveAlgorithm,
    Algorithm,
    Bins,
    DecisionTreeAlgorithm,
    LogisticAlgorithm,
    NaiveBayesAlgorithm,
    Parameters,
    PcaAlgorithm,
    RidgeAlgorithm,
    SearchAlgorithm,
)
from discreet.prices import Additive
from discreet.privacy import Loss, in_words

__all__ = ["Picture", "outline", "picture"]

Picture = Literal["terms", "coefficients", "spend"]
_MOST_COMPONENTS = 10
_MOST_LEAVES = 256


def picture(
    learnt: tuple[Algorithm, Inputs, Parameters], what: Picture | None, loss: Loss, certificate: Mapping[str, Any]
) -> dict[str, Any]:
    """A picture of a model as a Vega-Lite specification. See `Model.plot`."""
    algorithm, inputs, parameters = _chosen(*learnt)
    kind = _usual(algorithm) if what is None else what
    target = "" if inputs.target is None else f" of {inputs.target.name}"
    title = f"{algorithm.name.replace('_', ' ').capitalize()}{target}"
    notes = [f"cost {in_words(loss)}"]
    match kind, algorithm:
        case "terms", AdditiveAlgorithm():
            terms = _terms(algorithm.binned(inputs), parameters["terms"])
            return term_chart(terms, f"{title}: what each input adds", _axis(inputs), notes)
        case "terms", NaiveBayesAlgorithm():
            terms = _terms(Bins(inputs, algorithm.bins), parameters["likelihoods"])
            return term_chart(terms, f"{title}: what each input adds", _axis(inputs), notes)
        case "coefficients", LogisticAlgorithm():
            weights = parameters["weights"][:-1] / parameters["radius"]
            classes, columns = _of_classes(inputs, weights)
            listed = _coefficients(inputs, classes, columns)
            axis = f"{_axis(inputs)}, by half a number's bounds or by a category"
            notes.append("of rows near the centre; farther ones are moved nearer")
            return coefficient_chart(listed, f"{title}: coefficients", axis, notes)
        case "coefficients", RidgeAlgorithm():
            assert inputs.target is not None
            half = float(inputs.target.upper - inputs.target.lower) / 2
            weights = parameters["weights"] / parameters["radius"] * half
            axis = f"{inputs.target.name}, by half a number's bounds or by a category"
            notes.append("of rows near the centre; farther ones are moved nearer")
            return coefficient_chart(
                _coefficients(inputs, [inputs.target.name], weights), f"{title}: coefficients", axis, notes
            )
        case "coefficients", PcaAlgorithm():
            components = parameters["components"][:_MOST_COMPONENTS].T
            classes = [f"component {i}" for i in range(components.shape[1])]
            return coefficient_chart(_coefficients(inputs, classes, components), title, "weight in a component", notes)
        case "spend", _:
            return share_chart(_shares(certificate), f"{title}: budget by step", [f"of {in_words(loss)}"])
        case (("terms" | "coefficients"), _):
            raise QueryError(f"a model by {algorithm.name} has no {kind}; its picture is of the {_usual(algorithm)}")
        case _:
            raise ParameterError(f"a picture is of 'terms', 'coefficients' or the 'spend', not {what!r}")


def _usual(algorithm: Algorithm) -> Picture:
    match algorithm:
        case AdditiveAlgorithm() | NaiveBayesAlgorithm():
            return "terms"
        case LogisticAlgorithm() | RidgeAlgorithm() | PcaAlgorithm():
            return "coefficients"
        case _:
            return "spend"


def _chosen(algorithm: Algorithm, inputs: Inputs, parameters: Parameters) -> tuple[Algorithm, Inputs, Parameters]:
    """The candidate that a search has chosen; any other algorithm as it is."""
    if isinstance(algorithm, SearchAlgorithm):
        return algorithm.chosen(parameters), inputs, algorithm.parameters_of_chosen(parameters)
    return algorithm, inputs, parameters


def _of_classes(inputs: Inputs, scores: NDArray[np.float64]) -> tuple[list[str], NDArray[np.float64]]:
    """Scores of classes up to a number that all of them share: of two classes their difference, else less the mean."""
    classes = ["null" if each is None else str(each) for each in inputs.classes]
    if len(classes) == 2:
        return classes[1:], scores[:, 1:] - scores[:, :1]
    return classes, scores - scores.mean(axis=1, keepdims=True)


def _axis(inputs: Inputs) -> str:
    classes = inputs.classes
    return f"log-odds of {classes[1]}" if len(classes) == 2 else "log of each class's share, less the mean"


def _terms(bins: Bins, scores: NDArray[np.float64]) -> list[Term]:
    classes, columns = _of_classes(bins.inputs, scores)
    return [
        Term(name, bins.texts_of(i), classes, columns[bins.slice_of(i)].tolist()) for i, name in enumerate(bins.names)
    ]


def _coefficients(inputs: Inputs, classes: Sequence[str], weights: NDArray[np.float64]) -> list[Coefficient]:
    names = [each.name for each in inputs.numbers]
    names += [
        f"{each.name} = {'null' if value is None else value}"
        for each in inputs.categories
        for value in each.values or ()
    ]
    return [
        Coefficient(name, of_class, float(weight))
        for name, row in zip(names, weights, strict=True)
        for of_class, weight in zip(classes, row, strict=True)
    ]


def _shares(certificate: Mapping[str, Any]) -> list[Share]:
    """What the steps of each name cost, in parts of what all of them did."""
    shares: dict[str, Share] = {}
    prices = step_prices(certificate)
    total = float(sum(prices)) or 1.0
    for (step, _), price in zip(steps_from_json(certificate["steps"]), prices, strict=True):
        before, share = shares.get(step.name, Share(step.name, 0.0, 0.0)), float(price) / total
        if isinstance(step.mechanism, Additive):
            shares[step.name] = Share(step.name, before.measured + share, before.chosen)
        else:
            shares[step.name] = Share(step.name, before.measured, before.chosen + share)
    return list(shares.values())


def outline(algorithm: Algorithm, inputs: Inputs, parameters: Parameters) -> str:
    """A decision tree as indented text. See `Model.outline`."""
    chosen, _, own = _chosen(algorithm, inputs, parameters)
    if not isinstance(chosen, DecisionTreeAlgorithm):
        raise QueryError(f"a model by {chosen.name} is no tree of questions; plot() draws it")
    if len(own["tables"]) != 1:
        raise QueryError("this file holds several trees, which no decision tree is")
    return "\n".join(_lines(chosen, Bins(inputs, chosen.bins), own))


def _lines(algorithm: DecisionTreeAlgorithm, bins: Bins, parameters: Parameters) -> Iterator[str]:
    """A line for each question and each leaf; subtrees whose leaves all say the same are one leaf."""
    shares = algorithm.leaf_shares(parameters)
    if len(shares) > _MOST_LEAVES:
        raise QueryError(f"a tree of {len(shares)} leaves is too large to be read; ask for a depth of 8 or less")
    inputs, thresholds = parameters["inputs"][0].astype(int), parameters["thresholds"][0].astype(int)
    classes = ["null" if each is None else str(each) for each in bins.inputs.classes]

    def lines(node: int, depth: int) -> Iterator[str]:
        first, last = _leaves_below(node, len(shares))
        likeliest = {int(each) for each in shares[first:last].argmax(axis=1)}
        if len(likeliest) == 1:
            (place,) = likeliest
            least = float(shares[first:last, place].min())
            most = float(shares[first:last, place].max())
            share = f"{least:.0%}" if f"{least:.0%}" == f"{most:.0%}" else f"{least:.0%} to {most:.0%}"
            yield f"{'  ' * depth}{classes[place]} ({share})"
            return
        yes, no = _question(bins, int(inputs[node]), int(thresholds[node]))
        yield f"{'  ' * depth}if {yes}:"
        yield from lines(2 * node + 2, depth + 1)
        yield f"{'  ' * depth}if {no}:"
        yield from lines(2 * node + 1, depth + 1)

    return lines(0, 0)


def _leaves_below(node: int, leaves: int) -> tuple[int, int]:
    """The first and the last leaf below a node, the last one excluded; leaves are the last level's nodes."""
    first, last = node, node
    while first < leaves - 1:
        first, last = 2 * first + 1, 2 * last + 2
    return first - leaves + 1, last - leaves + 2


def _question(bins: Bins, i: int, threshold: int) -> tuple[str, str]:
    """What goes right, and what goes left."""
    name, texts = bins.names[i], bins.texts_of(i)
    if not bins.ordered[i]:
        text = texts[min(threshold, len(texts) - 1)]
        return (f"{name} is {text}", f"{name} is not {text}")
    if threshold >= bins.bins:
        return f"{name} is missing", f"{name} is there"
    edge = f"{bins.edges_of(i)[threshold]:g}"
    return f"{name} is {edge} or more, or missing", f"{name} is below {edge}"
