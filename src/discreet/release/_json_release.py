"""A release that is stored as one JSON object, and the digest that its certificate states of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self, cast

from discreet.errors import LedgerError, ParameterError, QueryError
from discreet.privacy import Loss, from_json, to_json
from discreet.release._base import BaseRelease
from discreet.release._content import Content
from discreet.release._digest import json_digest, parse_finite

__all__ = ["JsonRelease"]

_FORMAT = 1
_MALFORMED = (
    *(KeyError, IndexError, StopIteration, ValueError, TypeError, AttributeError, ArithmeticError),
    *(RuntimeError, MemoryError, ParameterError, QueryError, LedgerError),
)


class JsonRelease(BaseRelease):
    """A release that is stored as one JSON object: what was released, what follows from it, its loss and certificate.

    A kind says how its `content` is written and read. The certificate states, as ``"answer"``, the `digest` of it.

    Attributes
    ----------
    called
        What an error calls it.
    fields
        The names in `content`.
    optional
        Names that it has beside these where there is something to say.
    repeated
        Names whose values its certificate states too: a file in which they differ is refused.
    left_out
        What its JSON shows that no digest covers, if it has `derived` names.
    """

    __slots__ = ()

    called: ClassVar[str]
    fields: ClassVar[frozenset[str]]
    optional: ClassVar[frozenset[str]] = frozenset()
    repeated: ClassVar[frozenset[str]] = frozenset()
    left_out: ClassVar[str | None] = None

    @abstractmethod
    def content(self) -> dict[str, Any]:
        """What was released, as plain JSON by the names in `fields`."""

    @classmethod
    @abstractmethod
    def from_content(cls, content: Mapping[str, Any], loss: Loss, certificate: Mapping[str, Any]) -> Self:
        """The inverse of `content`. Of what is not trusted: it may raise as code does that meets a wrong type."""

    def derived(self, level: float) -> dict[str, Any]:  # noqa: ARG002
        """What follows from the content, for those who read its JSON; errors are at `level`."""
        return {}

    @property
    def stored(self) -> dict[str, Any]:
        """The content with its format, which the digest covers."""
        return {"format": _FORMAT, **self.content()}

    def digest(self) -> str:
        """SHA-256 of the release without its loss and certificate, which states it."""
        return json_digest(self.stored)

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """The release as plain JSON; errors are at `level`."""
        beside = {"loss": to_json(self.loss), "certificate": dict(self.certificate)}
        return {**self.stored, **self.derived(level), **beside}

    def to_bytes(self) -> bytes:
        """The release as JSON; `from_bytes` restores it."""
        return self.to_json().encode()

    @classmethod
    def from_bytes(cls, payload: bytes) -> Self:
        """Restore a stored release; no code in it is run. Raises `LedgerError` if the bytes are none of this kind."""
        try:
            stored = cast("dict[str, Any]", parse_finite(payload))
            if not isinstance(stored["certificate"], dict):
                raise TypeError
            return cls.from_stored(stored, from_json(stored["loss"]), stored["certificate"])
        except _MALFORMED:
            raise LedgerError(f"a stored {cls.called} cannot be read; it is damaged, or of a later version") from None

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any], loss: Loss, certificate: Mapping[str, Any]) -> Self:
        """The inverse of `stored`. May raise as `from_content`."""
        if stored["format"] != _FORMAT:
            raise ValueError("another format")
        if certificate and any(stored[name] != certificate[name] for name in cls.repeated):
            raise ValueError("the release and its certificate disagree")
        return cls.from_content(stored, loss, certificate)

    @classmethod
    def digests(cls, content: Content) -> tuple[dict[str, str], str | None]:
        """What `ReleaseKind.digests` takes: the digest of what a file holds, under its name in a certificate.

        Raises `KeyError` for a file that has other names, or columns.
        """
        names = cls.fields | {"format"} | (cls.optional & content.fields.keys())
        beside = content.fields.keys() - names
        if content.columns is not None or not names <= content.fields.keys() or (beside and cls.left_out is None):
            raise KeyError(f"a file of a {cls.called} has other fields")
        return {"answer": json_digest({name: content.fields[name] for name in names})}, cls.left_out
