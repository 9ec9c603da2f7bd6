"""Reconstruction from answers about many subsets: too many answers that are too good give every bit away.

Source: Dinur and Nissim 2003; the linear program of Dwork, McSherry and Talwar 2007.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.attack._outcome import Control, Outcome
from discreet.errors import ParameterError
from discreet.noise import fresh_draws

__all__ = ["random_subsets", "reconstruct", "solve_bits"]


def random_subsets(people: int, queries: int) -> NDArray[np.bool_]:
    """For each query who is asked about: everybody by a fair coin."""
    return fresh_draws().below(2, people * queries).reshape(queries, people).astype(bool)


def solve_bits(
    subsets: NDArray[np.bool_], answers: NDArray[np.float64], nearest: Literal["largest", "total"] = "largest"
) -> NDArray[np.float64]:
    """The numbers from 0 to 1, one for each person, whose sums are nearest to the answers.

    Nearest by the largest error, which is best where errors are bounded (Dinur and Nissim), or by the total of all,
    which is best where a few are large (Dwork, McSherry and Talwar).

    >>> solve_bits(np.array([[True, True], [True, False]]), np.array([1.2, 0.1])).round()
    array([0., 1.])
    """
    from scipy import sparse
    from scipy.optimize import linprog

    queries, people = subsets.shape
    if len(answers) != queries or not queries:
        raise ParameterError(f"there are {queries:,} subsets and {len(answers):,} answers: one for each is needed")
    if not np.isfinite(answers).all():
        raise ParameterError("an answer is not a finite number: leave that question out")
    if nearest not in {"largest", "total"}:
        raise ParameterError(f"nearest is 'largest' or 'total', not {nearest!r}")
    sums = sparse.csr_array(subsets.astype(np.float64))
    ones = sparse.csr_array(np.ones((queries, 1)))
    slacks = 1 if nearest == "largest" else queries
    slack: Any = ones if nearest == "largest" else sparse.identity(queries, format="csr")
    rows = sparse.block_array([[sums, -slack], [-sums, -slack]], format="csr")
    solved: Any = linprog(
        np.r_[np.zeros(people), np.ones(slacks)],
        A_ub=rows,
        b_ub=np.r_[answers, -answers],
        bounds=[(0, 1)] * people + [(0, None)] * slacks,
        method="highs-ipm",
    )
    if not solved.success:
        raise ParameterError(f"the linear program was not solved: {solved.message}")
    places: NDArray[np.float64] = np.array(solved.x, np.float64)
    return places[:people]


def reconstruct(
    ask: Callable[[NDArray[np.bool_]], float],
    secret: NDArray[np.bool_],
    queries: int = 1000,
    nearest: Literal["largest", "total"] = "largest",
) -> Outcome:
    """Ask about random subsets of people, and guess everybody's bit.

    Parameters
    ----------
    ask
        Answers how many of a subset have the secret, as well as the release does.
    secret
        The truth, to which guesses are compared.
    queries
        How many subsets.
    nearest
        As `solve_bits`.

    Returns the outcome; the control guesses for everybody what most have. Raises `ParameterError` for nobody, for
    secrets that are no truth values, and for answers that are not finite.

    >>> secret = np.arange(32) % 3 == 0
    >>> reconstruct(lambda subset: float((subset & secret).sum()), secret, queries=128).success
    1.0
    """
    if not len(secret) or queries < 1:
        raise ParameterError("there are no people or no queries to ask about")
    if secret.dtype != bool:
        raise ParameterError(f"secret is a truth value for each person, not of type {secret.dtype}")
    subsets = random_subsets(len(secret), queries)
    answers = np.array([float(ask(each)) for each in subsets])
    places = solve_bits(subsets, answers, nearest)
    guess = places > 0.5
    right = guess == secret
    share = float(secret.mean())
    evidence = pa.table(
        [pa.array(np.arange(len(secret))), pa.array(guess), pa.array(np.abs(places - 0.5) * 2), pa.array(right)],
        ["person", "guess", "confidence", "right"],
    )
    return Outcome("reconstruction", int(right.sum()), len(secret), Control(max(share, 1 - share)), evidence)
