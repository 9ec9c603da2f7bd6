"""A deliberately broken mechanism: the real code with one mistake patched in, and what it then leaks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal
from unittest.mock import patch

from discreet.audit.black_box._claim import claim_of
from discreet.privacy import Loss
from discreet.rational import Number

__all__ = ["Mutant", "Patches", "patched"]

Patches = Callable[[], AbstractContextManager[object]]


@dataclass(frozen=True, slots=True, eq=False)
class Mutant:
    """The real code with one mistake in it.

    Attributes
    ----------
    name
        Unique.
    why
        Which mistake people make, in one sentence.
    patches
        Makes the context in which the code is broken. See `patched`.
    mechanism
        Makes what is audited, as `check` takes it; called in that context, and without it for the sound twin.
    pair
        The neighbours.
    claim
        What the sound code costs on them, and what the broken one says.
    true_epsilon
        What the broken code costs on this pair at the δ of the audit: a number, or a function that works it out.
    samples
        With how many outputs `check` is sure to see it.
    seen_by
        ``"sampling"``; or ``"exact"`` where no sampling could, and `door.real_verdict` does.
    delta
        Where ε is told, as `check` takes it.
    options
        Makes the options of exact mode, as `door.real_law` takes them.
    slow
        Whether it takes so long that only the soak runs it.
    """

    name: str
    why: str
    patches: Patches
    mechanism: Callable[[], Any]
    pair: tuple[Any, Any]
    claim: Loss
    true_epsilon: float | Callable[[], float]
    samples: int = 20_000
    seen_by: Literal["sampling", "exact"] = "sampling"
    delta: Number | None = None
    options: Callable[[], Mapping[str, Any]] = dict
    slow: bool = False

    @property
    def claimed(self) -> float:
        """The ε of the claim at the δ of the audit."""
        return claim_of(self.claim, self.delta).epsilon

    @property
    def epsilon(self) -> float:
        """The true ε, as a number."""
        return self.true_epsilon() if callable(self.true_epsilon) else self.true_epsilon

    @contextmanager
    def broken(self) -> Iterator[Any]:
        """The mechanism with the mistake, while it is in the code."""
        with _fresh_caches(), self.patches(), _fresh_caches():
            yield self.mechanism()

    @contextmanager
    def sound(self) -> Iterator[Any]:
        """The same mechanism without the mistake."""
        with _fresh_caches():
            yield self.mechanism()


def patched(*changes: tuple[Any, str, Any]) -> Patches:
    """A context in which each (module or class, name) has that value instead: `unittest.mock.patch.object`."""

    @contextmanager
    def broken() -> Iterator[None]:
        with ExitStack() as stack:
            for owner, name, value in changes:
                stack.enter_context(patch.object(owner, name, value))
            yield

    return broken


@contextmanager
def _fresh_caches() -> Iterator[None]:
    """What the code worked out in one state is not used in another."""
    _forget()
    yield
    _forget()


def _forget() -> None:
    for name, module in list(sys.modules.items()):
        if name == "discreet" or name.startswith("discreet."):
            for value in list(vars(module).values()):
                if hasattr(type(value), "cache_clear"):
                    value.cache_clear()
