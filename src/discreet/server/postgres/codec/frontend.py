"""What a client sends: one frozen dataclass for each message of the PostgreSQL protocol that is taken.

Source: PostgreSQL manual, chapter "Frontend/Backend Protocol", section "Message Formats".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

__all__ = [
    "Bind", "CancelRequest", "Close", "Describe", "EncryptionRequest", "Execute", "Message", "Parse",
    "ProtocolError", "Query", "Secret", "Signal", "Startup", "Target",
]  # fmt: skip

Target = Literal["S", "P"]
"""What Describe and Close are for: a prepared statement or a portal."""


class ProtocolError(Exception):
    """Bytes that are no message, or none that is taken here. The connection cannot go on."""

    sqlstate = "08P01"


@dataclass(frozen=True, slots=True)
class Startup:
    """The first message of a session, for protocol 3.`minor`."""

    minor: int
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class EncryptionRequest:
    """SSLRequest, or GSSENCRequest: may what follows be encrypted?"""

    method: Literal["tls", "gss"]


@dataclass(frozen=True, slots=True)
class CancelRequest:
    """A connection's only message: stop what another connection asked."""

    process: int
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Secret:
    """A PasswordMessage, a SASLInitialResponse or a SASLResponse, which look alike."""

    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Query:
    """Statements as text, asked at once."""

    text: str


@dataclass(frozen=True, slots=True)
class Parse:
    """Prepare a statement. `types` are OIDs of its parameters, 0 where the server shall choose."""

    name: str
    text: str
    types: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Bind:
    """Make a portal of a statement. Formats are 0, text, and 1, binary: none for text, one for all, or each its own."""

    portal: str
    statement: str
    formats: tuple[int, ...] = ()
    values: tuple[bytes | None, ...] = ()
    result_formats: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Describe:
    """What are the columns, and of a statement the parameters?"""

    target: Target
    name: str


@dataclass(frozen=True, slots=True)
class Execute:
    """Run a portal, for at most so many rows; 0 is all."""

    portal: str
    max_rows: int = 0


@dataclass(frozen=True, slots=True)
class Close:
    """Drop a statement or a portal."""

    target: Target
    name: str


class Signal(Enum):
    """Messages without a body: the end of a series, a request to send what waits, and goodbye."""

    SYNC = "S"
    FLUSH = "H"
    TERMINATE = "X"


Message = (
    Startup | EncryptionRequest | CancelRequest | Secret | Query | Parse | Bind | Describe | Execute | Close | Signal
)
"""Whatever a client may send."""
