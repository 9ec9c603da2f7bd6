"""Pictures of a fit: its marginals beside what was measured, its errors, its budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from scipy.special import ndtri

from discreet.charts import Distance, Histogram, Share, distance_chart, histogram_chart, share_chart
from discreet.errors import ParameterError
from discreet.privacy import in_words
from discreet.synth._report import MarginalFit, SynthesisReport

__all__ = ["Picture", "picture"]

Picture = Literal["marginals", "errors", "budget"]


def picture(report: SynthesisReport, what: Picture, columns: Sequence[int] | None, level: float) -> dict[str, Any]:
    """A picture of a report as a Vega-Lite specification; `columns` are positions. See `SyntheticTable.plot`."""
    if not isinstance(level, int | float) or not 0 < level < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"level must lie strictly between 0 and 1, for example 0.95; got {level!r}")
    cost = in_words(report.loss)
    match what:
        case "marginals":
            return histogram_chart(
                [_histogram(each, level) for each in _single(report, columns)],
                f"Synthetic {report.table}: columns as they were measured, and in the model",
                [f"{100 * level:.10g} % intervals, cost {cost}"],
            )
        case "errors":
            ordered = sorted(report.marginals, key=lambda each: -each.distance)
            distances = [Distance(e.name, e.distance, e.noise_distance, e.stands_out) for e in ordered]
            return distance_chart(distances, f"Synthetic {report.table}: error by marginal", [f"cost {cost}"])
        case "budget":
            return share_chart(_shares(report), f"Synthetic {report.table}: budget by round", [f"of {cost}"])
        case _:
            raise ParameterError(f"a picture is of 'marginals', 'errors' or the 'budget', not {what!r}")


def _single(report: SynthesisReport, columns: Sequence[int] | None) -> list[MarginalFit]:
    """The first measurement of each single column, over public cells."""
    singles: dict[str, MarginalFit] = {}
    for each in report.marginals:
        if len(each.columns) == 1:
            singles.setdefault(each.columns[0], each)
    listed = list(singles.values())
    return listed if columns is None else [listed[column] for column in columns]


def _histogram(each: MarginalFit, level: float) -> Histogram:
    only, *others = each.mechanisms
    half = float(each.std * ndtri((1 + level) / 2)) if others else float(only.error(level))
    (cells,) = each.texts
    return Histogram(each.name, cells, each.measured.tolist(), half, each.model.tolist())


def _shares(report: SynthesisReport) -> list[Share]:
    shares: dict[str, Share] = {}
    for step in report.steps:
        before = shares.get(step.stage, Share(step.stage, 0.0, 0.0))
        if step.candidates is None:
            shares[step.stage] = Share(step.stage, before.measured + step.share, before.chosen)
        else:
            shares[step.stage] = Share(step.stage, before.measured, before.chosen + step.share)
    return list(shares.values())
