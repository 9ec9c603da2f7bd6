"""The release of one mechanism: the value, its error and a certificate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from numbers import Integral, Real
from typing import Any

import numpy as np

from discreet.errors import LedgerError, ParameterError
from discreet.privacy import Loss, from_json, to_json
from discreet.rational import Number
from discreet.release._base import BaseRelease
from discreet.release._content import Content
from discreet.release._digest import check_finite, json_digest

__all__ = ["MechanismRelease", "mechanism_digests", "value_digest"]

_FORMAT = 1
_PLAIN_INT = 2**63


@dataclass(frozen=True, slots=True, repr=False)
class MechanismRelease(BaseRelease):
    """A private answer of one mechanism. It may be shown to anyone: everything done with it from here on is free.

    Attributes
    ----------
    value
        What the mechanism's `release` returned; `None` from propose-test-release means refused.
    loss
        What it cost.
    certificate
        In plain JSON what ran: the mechanism with its parameters, the sensitivity, the unit and relation, the loss.
    mechanism
        The mechanism itself, for its `error`; None for a release that was read from a file.

    Made by `Session.release`.
    """

    value: Any
    loss: Loss
    certificate: Mapping[str, Any]
    mechanism: Any = None

    def error(self, level: Number = 0.95) -> Any:
        """The distance from the answer without noise that is kept with probability `level`.

        It is the mechanism's own `error`, and does not depend on data. Raises `ParameterError` where the mechanism has
        none of `level` alone: its error then depends on the data, or on numbers that only the caller knows.
        """
        if self.mechanism is None:
            raise ParameterError(
                "a release that was read from a file has no mechanism to ask; ask the one that made it"
            )
        error = getattr(self.mechanism, "error", None)
        parameters = [] if error is None else list(signature(error).parameters.values())
        missing = [each for each in parameters if each.default is each.empty and each.name != "level"]
        if error is None or missing:
            name = type(self.mechanism).__name__
            others = ", ".join(each.name for each in missing)
            raise ParameterError(
                f"the error of {name} needs {others}; ask the mechanism: release.mechanism.error(…)"
                if missing
                else f"the error of {name} depends on the data, so it is not known"
            )
        return error(level=level)

    def to_bytes(self) -> bytes:
        """The release as JSON; `from_bytes` restores it. Raises `ParameterError` for a value of another kind."""
        return json.dumps(self.to_dict()).encode()

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:  # noqa: ARG002 - it has no error bars
        """The value as JSON can hold it exactly, the loss and the certificate."""
        return {
            "format": _FORMAT,
            "value": _encoded(self.value),
            "loss": to_json(self.loss),
            "certificate": dict(self.certificate),
        }

    @classmethod
    def from_bytes(cls, payload: bytes, mechanism: Any = None) -> MechanismRelease:
        """Restore a stored release of that mechanism. Raises `LedgerError` if the bytes are not one."""
        try:
            content = json.loads(payload)
            if content["format"] != _FORMAT:
                raise ValueError
            check_finite(content["certificate"])
            return cls(_decoded(content["value"]), from_json(content["loss"]), content["certificate"], mechanism)
        except (KeyError, ValueError, TypeError, RecursionError):
            raise LedgerError("a stored release in the ledger cannot be read; it is damaged") from None

    def header(self) -> list[tuple[str, bool]]:
        """The value under the name of the release, or under that of the mechanism."""
        return [(self._name(), isinstance(self.value, Real | np.ndarray))]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:
        """A row for each number, with its error where the mechanism knows one."""
        half = self._half_width(level)
        return [[f"{_text(each)}{half}"] for each in self._values()[:first]]

    def note(self, level: float = 0.95) -> str:
        """What ± means."""
        count = len(self._values())
        number = "1 value" if count == 1 else f"{count:,} values"
        return f"{number}; ± is {100 * level:.10g} % of the noise" if self._half_width(level) else number

    def _name(self) -> str:
        name = self.certificate.get("name")
        return str(name) if name else type(self.mechanism).__name__ if self.mechanism is not None else "value"

    def _values(self) -> list[Any]:
        if isinstance(self.value, np.ndarray):
            return self.value.ravel().tolist()
        return list(self.value) if isinstance(self.value, list | tuple) else [self.value]

    def _half_width(self, level: float) -> str:
        try:
            half = self.error(level)
        except (ParameterError, TypeError):
            return ""
        return f" ± {_text(half)}" if isinstance(half, Real) else ""


def mechanism_digests(content: Content) -> tuple[dict[str, str], None]:
    """The digest of the value that a file holds, under its name in the certificate."""
    if content.columns is not None or set(content.fields) != {"format", "value"}:
        raise ValueError("a file of a mechanism's release holds a format and a value")
    return {"answer": json_digest(content.fields["value"])}, None


def value_digest(value: Any) -> str:
    """SHA-256 of a released value as it is stored, by which its certificate knows it again.

    Raises `ParameterError` for a value of a kind that is not stored.
    """
    return json_digest(_encoded(value))


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, Real):
        return str(value)
    return f"{value:,}" if isinstance(value, Integral) else f"{float(value):,.6g}"


def _encoded(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        flat = [_encoded(item) for item in value.ravel().tolist()]
        return {"array": flat, "shape": list(value.shape), "dtype": str(value.dtype)}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= _PLAIN_INT:
        return {"hex": f"{value:x}"}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_encoded(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    raise ParameterError(
        f"a ledger keeps numbers, text, lists and arrays, and this mechanism gave back {type(value).__name__}"
    )


def _decoded(value: Any) -> Any:
    match value:
        case {"array": items, "shape": shape, "dtype": dtype}:
            array = np.empty(len(items), dtype=np.dtype(dtype))
            for i, item in enumerate(items):
                array[i] = _decoded(item)
            return array.reshape(shape)
        case {"hex": digits}:
            return int(digits, 16)
        case dict():
            raise ValueError
        case list():
            return [_decoded(item) for item in value]
        case _:
            return value
