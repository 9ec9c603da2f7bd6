"""The best of several private results: in how many tries, and what that loses."""

from discreet.learn.selection._bounds import delta_of_best, epsilon_of_best
from discreet.learn.selection._budgets import loss_of_best, prices_of_try
from discreet.learn.selection._plan import CHOOSING, SearchPlan, Way, plan_search
from discreet.learn.selection._tries import Tries

__all__ = [
    "CHOOSING",
    "SearchPlan",
    "Tries",
    "Way",
    "delta_of_best",
    "epsilon_of_best",
    "loss_of_best",
    "plan_search",
    "prices_of_try",
]
