"""What a loss means: currencies, bounds on ε and δ, and what a budget allows.

The functions exported here are the `Interpreter` that `discreet.privacy` gives to `Loss`.
"""

from discreet.privacy.accounting._budget import as_pure
from discreet.privacy.accounting._certify import bounds, delta, epsilon, fits
from discreet.privacy.accounting._explain import explain
from discreet.privacy.accounting._meanings import at_risk, mu, posterior, renyi, rho, tradeoff

__all__ = [
    "as_pure",
    "at_risk",
    "bounds",
    "delta",
    "epsilon",
    "explain",
    "fits",
    "mu",
    "posterior",
    "renyi",
    "rho",
    "tradeoff",
]
