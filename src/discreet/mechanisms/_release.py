"""What a charged mechanism gave back: the value, its error and a certificate, as bytes that a ledger can keep."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from discreet.errors import LedgerError, ParameterError
from discreet.privacy import Loss, from_json, in_words, to_json
from discreet.rational import Number

__all__ = ["MechanismRelease", "value_digest"]

_FORMAT = 1
_PLAIN_INT = 2**63


@dataclass(frozen=True, slots=True)
class MechanismRelease:
    """A private answer of one mechanism. It may be shown to anyone: everything done with it from here on is free.

    Attributes
    ----------
    value
        What the mechanism's `release` gave back; `None` from propose-test-release means refused.
    loss
        What it cost.
    certificate
        In plain JSON what ran: the mechanism with its parameters, the sensitivity, the unit and relation, the loss.
    mechanism
        The mechanism itself, for its `error`.

    Made by `Session.release`.
    """

    value: Any
    loss: Loss
    certificate: Mapping[str, Any]
    mechanism: Any

    def error(self, level: Number = 0.95) -> Any:
        """How far the value is from the answer without noise at most, with probability `level`.

        It is the mechanism's own `error`, and does not depend on data. Raises `ParameterError` where the mechanism has
        none of `level` alone: its error then depends on the data, or on numbers that only the caller knows.
        """
        told = getattr(self.mechanism, "error", None)
        needs = (
            [] if told is None else [each for each in signature(told).parameters.values() if each.default is each.empty]
        )
        if told is None or needs:
            name = type(self.mechanism).__name__
            others = ", ".join(each.name for each in needs)
            raise ParameterError(
                f"the error of {name} needs {others}; ask the mechanism: release.mechanism.error(…)"
                if needs
                else f"the error of {name} depends on the data, and is not told"
            )
        return told(level=level)

    def to_bytes(self) -> bytes:
        """The release as JSON; `from_bytes` restores it. Raises `ParameterError` for a value of another kind."""
        content = {
            "format": _FORMAT,
            "value": _encoded(self.value),
            "loss": to_json(self.loss),
            "certificate": dict(self.certificate),
        }
        return json.dumps(content).encode()

    @classmethod
    def from_bytes(cls, payload: bytes, mechanism: Any) -> MechanismRelease:
        """Restore a stored release of that mechanism. Raises `LedgerError` if the bytes are not one."""
        try:
            content = json.loads(payload)
            if content["format"] != _FORMAT:
                raise ValueError
            return cls(_decoded(content["value"]), from_json(content["loss"]), content["certificate"], mechanism)
        except (KeyError, ValueError, TypeError):
            raise LedgerError("a stored release in the ledger cannot be read; it is damaged") from None

    def __repr__(self) -> str:
        return f"MechanismRelease({self.value!r}, {type(self.mechanism).__name__}, cost {in_words(self.loss)})"


def value_digest(value: Any) -> str:
    """SHA-256 of a released value as it is stored, by which its certificate knows it again.

    Raises `ParameterError` for a value of a kind that is not stored.
    """
    return hashlib.sha256(json.dumps(_encoded(value), sort_keys=True).encode()).hexdigest()


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
