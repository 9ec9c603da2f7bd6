"""The registry of kinds: how a stored release of each kind is read, and how its loss is recomputed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from discreet.errors import LedgerError, MissingExtra
from discreet.privacy import Loss
from discreet.release._base import BaseRelease
from discreet.release._content import Content

__all__ = ["ReleaseKind", "kind_of", "register"]

ENTRY_POINTS = "discreet.releases"
"""The group of entry points by which packages bring kinds, discreet too: each is a `ReleaseKind` under its name."""


@dataclass(frozen=True, slots=True)
class ReleaseKind:
    """One kind of release.

    Attributes
    ----------
    name
        The ``"kind"`` in its certificates.
    read
        Restores a release from its bytes. Raises `LedgerError`.
    digests
        Recomputes, from what a file holds beside the certificate, the digests that the certificate must have, and says
        what of the file no digest covers (None if nothing is left out). May raise `KeyError`, `ValueError`,
        `TypeError`, `IndexError`, `AttributeError` or `ArithmeticError` for what is no such release.
    recompute_loss
        The loss that follows from the mechanisms of a certificate alone. Raises `LedgerError` where none does.
    verify_loss
        None if the stated loss is at least what follows from the mechanisms, else why that cannot be known. Raises
        `LedgerError` if it is less.
    """

    name: str
    read: Callable[[bytes], BaseRelease]
    digests: Callable[[Content], tuple[Mapping[str, str], str | None]]
    recompute_loss: Callable[[Mapping[str, Any]], Loss]
    verify_loss: Callable[[Mapping[str, Any]], str | None]


_KINDS: dict[str, ReleaseKind] = {}


def register(kind: ReleaseKind) -> ReleaseKind:
    """Make a kind known to `discreet verify` and to whatever reads releases. Raises `ValueError` for a taken name."""
    if _KINDS.setdefault(kind.name, kind) is not kind:
        raise ValueError(f"there is a kind of release called {kind.name!r} already")
    return kind


def kind_of(certificate: Mapping[str, Any]) -> ReleaseKind:
    """The kind that a certificate names, registered here or by an installed package.

    Raises `LedgerError` for one that is not known.
    """
    name = certificate.get("kind")
    if isinstance(name, str) and name not in _KINDS:
        _find(name)
    if not isinstance(name, str) or name not in _KINDS:
        raise LedgerError(
            "this is not the certificate of a kind of release that is known here; install the package that it comes "
            "from, or a later version of discreet"
        )
    return _KINDS[name]


def _find(name: str) -> None:
    """Register the kind that discreet, or else another installed package, brings under this name."""
    points = sorted(entry_points(group=ENTRY_POINTS, name=name), key=lambda point: not _is_ours(point))
    for point in points[:1]:
        try:
            kind = point.load()
            if not isinstance(kind, ReleaseKind) or kind.name != name:
                raise TypeError
            register(kind)
        except Exception as error:
            remedy = f"{error}" if isinstance(error, MissingExtra) else f"{type(error).__name__}; install it anew"
            raise LedgerError(
                f"the installed package that brings releases of the kind {name!r} cannot be used: {remedy}"
            ) from error


def _is_ours(point: EntryPoint) -> bool:
    return point.value.startswith("discreet.")
