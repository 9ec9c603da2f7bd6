"""A server for a team: the desk behind its HTTP API and the PostgreSQL wire, as a process. `discreet serve` runs it."""

from discreet.server.team._serve import serve
from discreet.server.team._settings import HttpSettings, PostgresSettings, Settings, SourceSettings

__all__ = ["HttpSettings", "PostgresSettings", "Settings", "SourceSettings", "serve"]
