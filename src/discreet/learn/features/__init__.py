"""Fixed features of rows: public maps of one row each, which cost nothing and learn nothing from private rows.

A map that the rows themselves had shaped would carry what they hold past the noise; these are constants, or a network
that was trained elsewhere. What they return is as private as the rows, with public bounds for an estimator.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.errors import MissingExtra

try:
    import sklearn  # noqa: F401  # pyright: ignore[reportUnusedImport]
except ImportError:
    raise MissingExtra("features need scikit-learn; install it with: pip install 'discreet[learn]'") from None

from discreet.learn.features._oriented_gradients import OrientedGradients

if TYPE_CHECKING:
    from discreet.learn.features._frozen import Frozen

__all__ = ["Frozen", "OrientedGradients"]


def __getattr__(name: str) -> Any:
    """`Frozen` is imported when it is asked for. Raises `MissingExtra` without torch."""
    if name == "Frozen":
        return import_module("discreet.learn.features._frozen").Frozen
    raise AttributeError(f"module 'discreet.learn.features' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
