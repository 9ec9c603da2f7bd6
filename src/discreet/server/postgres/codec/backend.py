"""What a server sends, as bytes.

Source: PostgreSQL manual, chapter "Frontend/Backend Protocol", section "Message Formats".
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

__all__ = [
    "AUTHENTICATED", "BIND_COMPLETE", "CLEAR_TEXT_ASKED", "CLOSE_COMPLETE", "COPY_DONE", "EMPTY_QUERY", "NEWEST_MINOR",
    "NO_DATA", "PARSE_COMPLETE", "PORTAL_SUSPENDED", "Column", "Notice", "backend_key", "command_complete", "copy_data",
    "copy_out", "data_row", "negotiate_version", "parameter_description", "parameter_status", "ready",
    "row_description", "sasl_asked", "sasl_step",
]  # fmt: skip

NEWEST_MINOR: Final = 2
"""Of protocol 3."""


def _message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + (len(body) + 4).to_bytes(4, "big") + body


def _text(value: str) -> bytes:
    """A text and its end; a zero byte in it would be another end, and becomes a sign for it."""
    return value.encode(errors="replace").replace(b"\0", "␀".encode()) + b"\0"


AUTHENTICATED: Final = _message(b"R", bytes(4))
CLEAR_TEXT_ASKED: Final = _message(b"R", bytes((0, 0, 0, 3)))
PARSE_COMPLETE: Final = _message(b"1")
BIND_COMPLETE: Final = _message(b"2")
CLOSE_COMPLETE: Final = _message(b"3")
COPY_DONE: Final = _message(b"c")
EMPTY_QUERY: Final = _message(b"I")
NO_DATA: Final = _message(b"n")
PORTAL_SUSPENDED: Final = _message(b"s")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of an answer: its name, the OID and width in bytes of its type (-1 varies), and its format."""

    name: str
    oid: int
    size: int = -1
    binary: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """An error or a notice: what happened, as a SQLSTATE and in words.

    `position` is the character of the query, from 1, where it is wrong.
    """

    severity: Literal["FATAL", "ERROR", "WARNING", "NOTICE"]
    sqlstate: str
    message: str
    detail: str | None = None
    hint: str | None = None
    position: int | None = None

    def encode(self) -> bytes:
        """The message: an ErrorResponse for FATAL and ERROR, else a NoticeResponse."""
        position = None if self.position is None else str(self.position)
        fields = {
            b"S": self.severity, b"V": self.severity, b"C": self.sqlstate, b"M": self.message, b"D": self.detail,
            b"H": self.hint, b"P": position,
        }  # fmt: skip
        body = b"".join(code + _text(value) for code, value in fields.items() if value is not None)
        return _message(b"E" if self.severity in ("FATAL", "ERROR") else b"N", body + b"\0")


def sasl_asked(mechanisms: Iterable[str]) -> bytes:
    """AuthenticationSASL, the best mechanism first."""
    return _message(b"R", struct.pack("!i", 10) + b"".join(map(_text, mechanisms)) + b"\0")


def sasl_step(data: bytes, *, last: bool = False) -> bytes:
    """AuthenticationSASLContinue or AuthenticationSASLFinal."""
    return _message(b"R", struct.pack("!i", 12 if last else 11) + data)


def negotiate_version(minor: int, unknown: Sequence[str]) -> bytes:
    """NegotiateProtocolVersion: go on as 3.`minor`, without the options that are unknown here."""
    return _message(b"v", struct.pack("!ii", 3 << 16 | minor, len(unknown)) + b"".join(map(_text, unknown)))


def parameter_status(name: str, value: str) -> bytes:
    """A setting as it is from now on."""
    return _message(b"S", _text(name) + _text(value))


def backend_key(process: int, key: bytes) -> bytes:
    """BackendKeyData: how this connection is cancelled from another one."""
    return _message(b"K", struct.pack("!i", process) + key)


def ready(state: Literal["I", "T", "E"]) -> bytes:
    """ReadyForQuery: idle, in a transaction block, or in one that failed."""
    return _message(b"Z", state.encode())


def parameter_description(oids: Sequence[int]) -> bytes:
    """The types of the parameters of a statement."""
    return _message(b"t", struct.pack(f"!H{len(oids)}I", len(oids), *oids))


def row_description(columns: Sequence[Column]) -> bytes:
    """The columns of the rows that follow."""
    parts = [len(columns).to_bytes(2, "big")]
    parts += [_text(each.name) + struct.pack("!IhIhih", 0, 0, each.oid, each.size, -1, each.binary) for each in columns]
    return _message(b"T", b"".join(parts))


def data_row(cells: Sequence[bytes | None]) -> bytes:
    """One row; None is null."""
    parts = [len(cells).to_bytes(2, "big")]
    parts += [b"\xff\xff\xff\xff" if cell is None else len(cell).to_bytes(4, "big") + cell for cell in cells]
    return _message(b"D", b"".join(parts))


def command_complete(tag: str) -> bytes:
    """A statement is done; the tag is its verb, and how many rows it gave."""
    return _message(b"C", _text(tag))


def copy_out(columns: int, *, binary: bool) -> bytes:
    """CopyOutResponse: rows of so many columns follow."""
    return _message(b"H", struct.pack(f"!bH{columns}h", binary, columns, *[int(binary)] * columns))


def copy_data(data: bytes) -> bytes:
    """A part of what is copied out."""
    return _message(b"d", data)
