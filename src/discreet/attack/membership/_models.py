"""Membership in a model's training data, and in published means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.attack.membership._outcome import MembershipOutcome, membership_outcome
from discreet.attack.membership._scores import bayesian, lira, quantile, rmia
from discreet.attack.membership._shadows import Shadows, confidences, train_shadows
from discreet.errors import ParameterError

__all__ = ["Method", "membership", "membership_by_shadows", "membership_in_means"]

Method = Literal["threshold", "lira", "lira-offline", "bayesian", "rmia", "quantile"]
_METHODS = ("threshold", "lira", "lira-offline", "bayesian", "rmia", "quantile")


def membership(  # noqa: PLR0913
    model: Any,
    records: tuple[NDArray[Any], NDArray[Any]],
    is_member: NDArray[np.bool_],
    *,
    train: Callable[[Any, NDArray[Any]], Any] | None = None,
    shadows: int = 16,
    method: Method = "bayesian",
) -> MembershipOutcome:
    """Guess who was in a model's training data.

    Parameters
    ----------
    model
        A classifier with `predict_proba`, or a function from rows to probabilities.
    records
        Rows and labels of people, members and others of the same population.
    is_member
        The truth, to which guesses are compared.
    train
        How the model was trained: from rows and labels to another model. All methods but ``"threshold"`` need it.
    shadows
        How many models of the attacker's own are trained, each on a random half of the people.
    method
        ``"threshold"``: who is predicted surely is a member. ``"lira"`` and ``"lira-offline"``, ``"rmia"``,
        ``"quantile"``, ``"bayesian"``: see `attack.membership`'s scores; the last is best with few shadow models.

    Raises
    ------
    ParameterError
        For records and truths that do not fit, and methods without what they need.
    """
    rows, labels = (np.asarray(each) for each in records)
    if len(rows) != len(labels):
        raise ParameterError(f"there are {len(rows):,} rows and {len(labels):,} labels")
    if method not in _METHODS:
        raise ParameterError(f"the method is one of {', '.join(_METHODS)}; not {method!r}")
    logits = confidences(model, rows, labels)
    if method == "threshold":
        return membership_outcome("membership by threshold", logits, is_member)
    if train is None:
        raise ParameterError(f"{method} trains models of its own: say how, as in train=lambda x, y: …")
    return membership_by_shadows(
        logits, train_shadows(train, rows, labels, shadows), is_member, method=method, features=rows
    )


def membership_by_shadows(
    logits: NDArray[np.float64],
    shadows: Shadows,
    is_member: NDArray[np.bool_],
    *,
    method: Method,
    features: NDArray[Any] | None = None,
) -> MembershipOutcome:
    """The same with shadow models that are there, so that methods can share them. Raises `ParameterError` alike."""
    match method:
        case "lira":
            scores = lira(logits, shadows)
        case "lira-offline":
            scores = lira(logits, shadows, offline=True)
        case "rmia":
            scores = rmia(logits, shadows)
        case "bayesian":
            scores = bayesian(logits, shadows)
        case "quantile" if features is not None:
            scores = quantile(logits, shadows, np.asarray(features, np.float64))
        case _:
            raise ParameterError(f"{method} does not work by shadow models alone")
    return membership_outcome(f"membership by {method}", scores, is_member)


def membership_in_means(
    means: NDArray[np.float64],
    reference: NDArray[np.float64],
    people: NDArray[np.float64],
    is_member: NDArray[np.bool_],
) -> MembershipOutcome:
    """Guess who is in a group whose means of many attributes were published.

    Parameters
    ----------
    means
        The published mean of each attribute.
    reference
        The same of the population at large, from elsewhere.
    people
        A row of attributes for each person, members and others.
    is_member
        The truth.

    Raises
    ------
    ParameterError
        For shapes that do not fit.
    """
    if people.ndim != 2 or means.shape != reference.shape or means.shape != people.shape[1:]:
        raise ParameterError("there is a mean and a reference for each attribute of the people")
    # The inner product of Dwork et al. 2015: as strong as Homer's distance, and linear.
    scores = (people - reference) @ (means - reference)
    return membership_outcome("membership in means", scores, is_member)
