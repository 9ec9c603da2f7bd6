"""HTTP/1.1 connections, strict and bounded: what the collector and the HTTP API both stand on.

Heads are parsed strictly (`read_head`), every wait has a deadline, and connections and the bytes held for them are
limited (`HttpConnections`). `Certificates` are for TLS, and are read again when their files change. `until_beat` is
when answers leave that were paid for, `has_passed` whether that has been, and `beat_after` when it is. Workers tell
each other by a `Bus`.
"""

from discreet.server.connections._beats import beat_after, check_beat, has_passed, until_beat
from discreet.server.connections._bus import BEGUN, Bus, WorkerBus
from discreet.server.connections._certificates import Certificates
from discreet.server.connections._connections import Exchange, HttpConnections, Line
from discreet.server.connections._head import HEAD, Answer, Refused, Request, http_date, read_head
from discreet.server.connections._limits import ConnectionLimits, allow_files

__all__ = [
    "BEGUN",
    "HEAD",
    "Answer",
    "Bus",
    "Certificates",
    "ConnectionLimits",
    "Exchange",
    "HttpConnections",
    "Line",
    "Refused",
    "Request",
    "WorkerBus",
    "allow_files",
    "beat_after",
    "check_beat",
    "has_passed",
    "http_date",
    "read_head",
    "until_beat",
]
