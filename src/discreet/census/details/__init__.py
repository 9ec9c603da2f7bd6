"""Groups that overlap, by areas: a noisy total chooses how finely each is shown, and a fresh measurement fills it."""

from discreet.census.details._kind import DETAIL_KIND
from discreet.census.details._layout import group_norms
from discreet.census.details._plan import DetailPlan
from discreet.census.details._publish import detail, load_detail, plan_detail, plan_detail_question
from discreet.census.details._question import PreparedDetail, PublishDetail
from discreet.census.details._release import DetailTables, GroupTotal
from discreet.census.details._spec import Detail, DetailSpec

__all__ = [
    "DETAIL_KIND",
    "Detail",
    "DetailPlan",
    "DetailSpec",
    "DetailTables",
    "GroupTotal",
    "PreparedDetail",
    "PublishDetail",
    "detail",
    "group_norms",
    "load_detail",
    "plan_detail",
    "plan_detail_question",
]
