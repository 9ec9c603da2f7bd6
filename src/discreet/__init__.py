"""Differential privacy with one ledger for every release.

>>> import discreet as dp
>>> dp.pure(0.1) + dp.pure(0.2)
pure(0.1) + pure(0.2)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet import (
        advice,
        anonymize,
        attack,
        audit,
        datasets,
        explain,
        ledger,
        local,
        mechanisms,
        noise,
        privacy,
        release,
        sensitivity,
    )
    from discreet.advice import Recommendation, recommend
    from discreet.connection import connect
    from discreet.errors import (
        BudgetExceeded,
        Cancelled,
        DataError,
        DiscreetError,
        LedgerError,
        MissingExtra,
        ParameterError,
        PolicyError,
        QueryError,
    )
    from discreet.policy import Policy
    from discreet.privacy import (
        Loss,
        Unit,
        approx,
        bounded_range,
        discrete_gaussian,
        discrete_laplace,
        gaussian,
        laplace,
        mu,
        nonadaptive,
        pure,
        randomized_response,
        rdp,
        rho,
        solve,
        tradeoff,
    )
    from discreet.query import Plan, Release, Suggestion, bind, transpile
    from discreet.session import Session


__all__ = [
    "BudgetExceeded",
    "Cancelled",
    "DataError",
    "DiscreetError",
    "LedgerError",
    "Loss",
    "MissingExtra",
    "ParameterError",
    "Plan",
    "Policy",
    "PolicyError",
    "QueryError",
    "Recommendation",
    "Release",
    "Session",
    "Suggestion",
    "Unit",
    "advice",
    "anonymize",
    "approx",
    "attack",
    "audit",
    "bind",
    "bounded_range",
    "connect",
    "datasets",
    "discrete_gaussian",
    "discrete_laplace",
    "explain",
    "gaussian",
    "laplace",
    "ledger",
    "local",
    "mechanisms",
    "mu",
    "noise",
    "nonadaptive",
    "privacy",
    "pure",
    "randomized_response",
    "rdp",
    "recommend",
    "release",
    "rho",
    "sensitivity",
    "solve",
    "tradeoff",
    "transpile",
]

_HOMES = {
    "advice": ("Recommendation", "recommend"),
    "errors": (
        "BudgetExceeded",
        "Cancelled",
        "DataError",
        "DiscreetError",
        "LedgerError",
        "MissingExtra",
        "ParameterError",
        "PolicyError",
        "QueryError",
    ),
    "policy": ("Policy",),
    "privacy": (
        "Loss",
        "Unit",
        "approx",
        "bounded_range",
        "discrete_gaussian",
        "discrete_laplace",
        "gaussian",
        "laplace",
        "mu",
        "nonadaptive",
        "pure",
        "randomized_response",
        "rdp",
        "rho",
        "solve",
        "tradeoff",
    ),
    "query": ("Plan", "Release", "Suggestion", "bind", "transpile"),
    "connection": ("connect",),
    "session": ("Session",),
}
_MODULES = (
    "advice", "anonymize", "attack", "audit", "datasets", "explain", "ledger", "local", "mechanisms", "noise",
    "privacy", "release", "sensitivity",
)  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for, so that ``import discreet`` is quick (PEP 562)."""
    if name == "__version__":
        from importlib.metadata import version

        return version("discreet")
    if name in _MODULES:
        return import_module(f"discreet.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    value = getattr(import_module(f"discreet.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
