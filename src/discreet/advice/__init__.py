"""Recommend a mechanism: the expected error of each, on data that are not private."""

from discreet.advice._option import LeftOut, Option
from discreet.advice._recommend import recommend
from discreet.advice._recommendation import Recommendation

__all__ = ["LeftOut", "Option", "Recommendation", "recommend"]
