"""Membership in published means: who is nearer to the published than to a reference's. Source: Homer et al. 2008."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.attack.membership._outcome import MembershipOutcome, membership_outcome
from discreet.errors import ParameterError

__all__ = ["membership_in_means"]


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
