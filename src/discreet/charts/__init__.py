"""A released table with its error bars as a chart: a Vega-Lite specification in plain JSON, and what draws it.

It knows no SQL and no data beside the released table. Costs nothing: a chart is post-processing of a release.
"""

from discreet.charts._altair import load_altair
from discreet.charts._areas import AreaError, AreaValue, area_chart, area_error_chart
from discreet.charts._bands import Band, band_chart
from discreet.charts._chart import chart
from discreet.charts._fits import Distance, Histogram, Share, distance_chart, histogram_chart, share_chart
from discreet.charts._models import Accuracy, Coefficient, Term, accuracy_chart, coefficient_chart, term_chart

__all__ = [
    "Accuracy",
    "AreaError",
    "AreaValue",
    "Band",
    "Coefficient",
    "Distance",
    "Histogram",
    "Share",
    "Term",
    "accuracy_chart",
    "area_chart",
    "area_error_chart",
    "band_chart",
    "chart",
    "coefficient_chart",
    "distance_chart",
    "histogram_chart",
    "load_altair",
    "share_chart",
    "term_chart",
]
