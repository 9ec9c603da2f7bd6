"""Recommend a mechanism: the expected error of each, on data that are not private."""

from discreet.advice._advisors import Advisor, register_advisor
from discreet.advice._frameworks import root_mean_square
from discreet.advice._option import LeftOut, Option, Task
from discreet.advice._recommend import Framework, compare, numeric_frameworks, recommend
from discreet.advice._recommendation import Recommendation

__all__ = [
    "Advisor",
    "Framework",
    "LeftOut",
    "Option",
    "Recommendation",
    "Task",
    "compare",
    "numeric_frameworks",
    "recommend",
    "register_advisor",
    "root_mean_square",
]
