"""The only door to randomness: secure bits, and exact samplers of discrete noise made from them.

No function here takes a seed or a source of bits, and none has a setting that would replace the source.
The proofs are in ``proofs/noise.md``.
"""

from discreet.noise._bernoulli import bernoulli, bernoulli_exp
from discreet.noise._draws import LEAST_SECRET, Draws, derived_secret, fresh_draws, remembered_draws
from discreet.noise._exp import exp_bounds
from discreet.noise._gaussian import discrete_gaussian
from discreet.noise._laplace import discrete_laplace
from discreet.noise._laplace_in_window import MAX_WINDOW, laplace_in_window
from discreet.noise._rounded_gaussian import rounded_gaussian
from discreet.noise._rounded_laplace import rounded_laplace
from discreet.noise._rounded_laplace_noise import rounded_laplace_noise
from discreet.noise._rounded_log_normal import rounded_laplace_log_normal, rounded_uniform_log_normal
from discreet.noise._rounded_pareto import rounded_pareto
from discreet.noise._rounded_student_t import rounded_student_t
from discreet.noise._staircase import staircase
from discreet.noise._uniform import MAX_SCALE, MIN_SCALE, permutation, scale_in_range, secret, uniform64, uniform_below

__all__ = [
    "LEAST_SECRET",
    "MAX_SCALE",
    "MAX_WINDOW",
    "MIN_SCALE",
    "Draws",
    "bernoulli",
    "bernoulli_exp",
    "derived_secret",
    "discrete_gaussian",
    "discrete_laplace",
    "exp_bounds",
    "fresh_draws",
    "laplace_in_window",
    "permutation",
    "remembered_draws",
    "rounded_gaussian",
    "rounded_laplace",
    "rounded_laplace_log_normal",
    "rounded_laplace_noise",
    "rounded_pareto",
    "rounded_student_t",
    "rounded_uniform_log_normal",
    "scale_in_range",
    "secret",
    "staircase",
    "uniform64",
    "uniform_below",
]
