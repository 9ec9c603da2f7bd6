"""The errors of mechanisms on public data: drawn, as histograms, and compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.charts import load_altair
from discreet.errors import ParameterError

__all__ = ["error_comparison", "error_histogram", "errors"]

Floats = NDArray[np.float64]

_LEVELS = (0.5, 0.9, 0.99)


def errors(mechanism: Any, x: Any, truth: float, draws: int = 1_000) -> Floats:
    """Answer minus truth for many releases on **public or made-up** data; NaN where an answer was refused.

    Parameters
    ----------
    mechanism
        With a `release` that gives one number, or None for a refusal.
    x
        What `release` takes. Never private data: many releases cost as often as they are made, and charge nobody.
        `SampleAndAggregate` is rehearsed, without its processes.
    truth
        The answer without noise.
    draws
        How many releases, 1 or more.

    Returns an array of length `draws`. Raises `ParameterError` for another number of draws.

    >>> from discreet.mechanisms import DiscreteLaplace
    >>> errors(DiscreteLaplace(3), 10, 10, draws=5).shape
    (5,)
    """
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"draws must be a whole number, 1 or more, got {draws!r}")
    release = getattr(mechanism, "rehearse", mechanism.release)
    answers = (release(x) for _ in range(draws))
    return np.array([np.nan if answer is None else float(answer) - truth for answer in answers])


def error_histogram(named_errors: Mapping[str, Floats], bins: int = 60, covered: float = 0.99, unit: str = "") -> Any:
    """A histogram of errors for each mechanism, over one range, as an altair chart.

    Parameters
    ----------
    named_errors
        Errors by name, as from `errors`.
    bins
        Bars in each histogram.
    covered
        The range shows this share of the widest mechanism's errors; the others' are cut at it.
    unit
        What the errors are measured in.

    Refused answers are counted in the name of the row. Raises `MissingExtra` without altair, `ParameterError` for
    nothing to show.
    """
    altair = load_altair()
    shown = {name: each[~np.isnan(each)] for name, each in _checked(named_errors).items()}
    reach = max((float(np.quantile(np.abs(each), covered)) for each in shown.values() if len(each)), default=1.0) or 1.0
    edges = np.linspace(-reach, reach, bins + 1)
    rows = [
        {"mechanism": _label(name, named_errors[name]), "from": left, "to": right, "share": float(share)}
        for name, each in shown.items()
        for left, right, share in zip(
            edges.tolist(), edges[1:].tolist(), np.histogram(each, edges)[0] / len(named_errors[name]), strict=False
        )
    ]
    title = f"error, {unit}" if unit else "error"
    bars = altair.Chart(altair.Data(values=rows)).mark_bar()
    encoded = bars.encode(
        altair.X("from:Q", title=title, bin="binned"),
        altair.X2("to:Q"),
        altair.Y("share:Q", title=None, axis=altair.Axis(format="%", tickCount=3)),
    )
    order = [_label(name, each) for name, each in named_errors.items()]
    return encoded.properties(width=480, height=70).facet(
        row=altair.Row(
            "mechanism:N", title=None, sort=order, header=altair.Header(labelAngle=0, labelAlign="left", labelLimit=260)
        )
    )


def error_comparison(named_errors: Mapping[str, Floats], unit: str = "") -> Any:
    """Half, nine tenths and ninety-nine hundredths of each mechanism's errors lie below the three points of its line.

    An altair chart on a logarithmic scale. `named_errors` and what is raised as for `error_histogram`; a refusal counts
    as an infinite error, and a level whose error is infinite or 0 has no point.
    """
    altair = load_altair()
    rows: list[dict[str, Any]] = []
    for name, each in _checked(named_errors).items():
        sizes = np.sort(np.where(np.isnan(each), np.inf, np.abs(each)))
        for level in _LEVELS:
            size = float(sizes[min(int(level * len(sizes)), len(sizes) - 1)])
            if 0 < size < np.inf:
                rows.append({"mechanism": _label(name, each), "level": f"{level:.0%}", "error": size})
    order = [_label(name, each) for name, each in named_errors.items()]
    title = f"size of the error, {unit}" if unit else "size of the error"
    base = altair.Chart(altair.Data(values=rows)).encode(
        altair.X("error:Q", title=title, scale=altair.Scale(type="log")),
        altair.Y("mechanism:N", title=None, sort=order, axis=altair.Axis(labelLimit=260)),
    )
    points = base.mark_point(filled=True, size=70).encode(altair.Color("level:N", title="of all answers"))
    return (base.mark_line(color="lightgray").encode(detail="mechanism:N") + points).properties(width=480)


def _checked(named_errors: Mapping[str, Floats]) -> Mapping[str, Floats]:
    if not named_errors or not all(len(each) for each in named_errors.values()):
        raise ParameterError("give errors by name, for example {'Laplace': errors(mechanism, x, truth)}")
    return named_errors


def _label(name: str, errors: Floats) -> str:
    refused = float(np.isnan(errors).mean())
    return f"{name}, refused {refused:.0%}" if refused else name
