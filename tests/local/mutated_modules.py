"""Modules of discreet.local with one place of their text changed."""

from __future__ import annotations

import importlib
import inspect
import types


def mutated(module: str, old: str, new: str) -> types.ModuleType:
    """The module with one place of its text changed."""
    real = importlib.import_module(f"discreet.local.{module}")
    text = inspect.getsource(real)
    assert text.count(old) == 1, f"{module} has {text.count(old)} of {old!r}"
    mutant = types.ModuleType(f"mutant_of_{module}")
    importlib.import_module("sys").modules[mutant.__name__] = mutant  # dataclasses look it up
    exec(compile(text.replace(old, new), f"<{module}: {new}>", "exec"), mutant.__dict__)
    return mutant
