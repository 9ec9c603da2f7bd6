"""Pictures of a loss: ε over δ with its bracket, and the adversary's trade-off."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import MissingExtra, ParameterError
from discreet.rational import rational

if TYPE_CHECKING:
    from discreet.privacy import Loss

__all__ = ["Points", "check_plot", "draw", "points"]

Points = dict[str, list[dict[str, float]]]

_SUFFIXES = (".svg", ".png", ".html")
_DELTAS = 13
_ALPHAS = 60


def check_plot(path: Path) -> None:
    """Raise before any work: `ParameterError` for another suffix, `MissingExtra` without the packages."""
    if path.suffix.lower() not in _SUFFIXES:
        raise ParameterError(f"--plot takes a file that ends in {', '.join(_SUFFIXES)}, got {path.name}")
    if not path.absolute().parent.is_dir():
        raise ParameterError(f"--plot: there is no directory {path.parent}")
    if find_spec("altair") is None or find_spec("vl_convert") is None:
        raise MissingExtra("--plot needs altair and vl-convert: pip install 'discreet[plots]'")


def points(loss: Loss, delta: str) -> Points:
    """The data of both pictures.

    ``"epsilon"`` has delta, lower, upper, for δ around `delta`; ``"tradeoff"`` has alpha, beta.

    >>> from discreet.privacy import pure
    >>> found = points(pure(1), "1e-6")
    >>> round(found["epsilon"][-1]["upper"], 6), found["tradeoff"][-1]
    (1.0, {'alpha': 1.0, 'beta': 0.0})
    """
    from discreet.privacy import tradeoff_curve

    centre = rational(delta, "--delta")
    middle = math.log10(centre) if centre else -6.0
    known: list[dict[str, float]] = []
    for step in range(_DELTAS):
        at = 10 ** (min(middle + 5, -1.0) - step)
        low, high = loss.bounds(delta=at, gap=0.01)
        if math.isfinite(high):
            known.append({"delta": at, "lower": low, "upper": high})
    alphas = [(step / _ALPHAS) ** 2 for step in range(_ALPHAS + 1)]
    return {
        "epsilon": known,
        "tradeoff": [{"alpha": alpha, "beta": beta} for alpha, beta in tradeoff_curve(loss, alphas)],
    }


def draw(data: Points, path: Path) -> None:
    """Write both pictures side by side."""
    chart = _chart(data)
    try:
        chart.save(str(path))
    except OSError as error:
        raise ParameterError(f"--plot: {path} cannot be written: {error.strerror}") from None


def _chart(data: Points) -> Any:
    import altair  # pyright: ignore[reportMissingImports]

    delta = altair.X("delta:Q", scale=altair.Scale(type="log"), axis=altair.Axis(format=".0e"), title="δ")
    curve = altair.Chart(altair.Data(values=data["epsilon"]))
    bracket = curve.mark_area(opacity=0.3).encode(delta, y="lower:Q", y2="upper:Q")
    upper = curve.mark_line().encode(delta, altair.Y("upper:Q", title="ε"))
    tests = altair.Chart(altair.Data(values=data["tradeoff"])).mark_line()
    tradeoff = tests.encode(altair.X("alpha:Q", title="type I error"), altair.Y("beta:Q", title="least type II error"))
    return (bracket + upper).properties(title="ε over δ, certified") | tradeoff.properties(
        title="Telling neighbours apart"
    )
