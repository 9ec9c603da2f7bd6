"""The start of a session: encryption, settings, and who it is. Until it is over nothing about anybody is said.

An unknown account, a wrong token, an account that was revoked: one message, after the same exchange. A server asks
every name for the same proof, which is SCRAM or, if so configured, the token itself inside TLS. Were only the older
accounts, for which a ledger has no verifier, asked for their token, that would tell their names.

Source: PostgreSQL manual, sections "Message Flow", "Start-up" and "SASL Authentication".
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from discreet.server.desk import Caller, Desk, Refusal
from discreet.server.postgres._channel import Channel
from discreet.server.postgres._encryption import Encryption
from discreet.server.postgres._refusals import SqlError, error_of
from discreet.server.postgres._settings import Settings
from discreet.server.postgres.codec import backend, frontend
from discreet.server.postgres.codec.frontend import ProtocolError
from discreet.server.postgres.codec.reader import MessageReader, read_initial_response, read_password
from discreet.server.postgres.codec.scram import PLAIN, PLUS, Verifier, challenge

__all__ = ["InThread", "SignIn", "SignedIn", "Terms"]


class InThread(Protocol):
    """What runs a call that waits in a thread of its own, and gives what it returns."""

    def __call__(self, call: Callable[[], _T], /) -> Awaitable[_T]: ...


_T = TypeVar("_T")
_OPTION = re.compile(r"(?:-c\s*|--)([^=\s]+)=((?:\\.|[^\s\\])*)\s*")
_NOT_SETTINGS = {"user", "database", "options", "replication"}


@dataclass(frozen=True, slots=True)
class Terms:
    """How sessions of a listener start.

    Attributes
    ----------
    draw
        Gives so many unpredictable bytes, for nonces and keys.
    encryption
        Gives TLS for a connection that begins now. Without it sessions are in the clear.
    insecure
        Whether sessions in the clear are taken at all.
    clear_text
        Whether clients send the token itself, inside TLS alone, in place of SCRAM.
    defaults
        Settings that an account's sessions start with, by the account's name.
    """

    draw: Callable[[int], bytes]
    encryption: Callable[[], Encryption] | None = None
    insecure: bool = False
    clear_text: bool = False
    defaults: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Who signed in where, with the settings of the start; `key_bytes` is how long a key to cancel by is."""

    desk: Desk
    caller: Caller
    settings: Settings
    key_bytes: int
    database: str


class SignIn:
    """One connection's sign-in. Raises `SqlError` for a refusal, which ends the connection, and `ProtocolError`."""

    def __init__(
        self, channel: Channel, reader: MessageReader, desks: Mapping[str, Desk], in_thread: InThread, terms: Terms
    ) -> None:
        self._channel, self._reader, self._desks, self._in_thread = channel, reader, desks, in_thread
        self._terms = terms
        self._end_point: bytes | None = None

    async def run(self) -> SignedIn | frontend.CancelRequest | None:
        """Whoever signed in; a request to cancel, which is all that its connection brings; None at the end of bytes."""
        first = await self._first()
        if not isinstance(first, frontend.Startup):
            return first
        if not (self._channel.is_encrypted or self._terms.insecure):
            raise SqlError("28000", "sessions here are encrypted", "Connect with sslmode=require or more.")
        self._negotiate(first)
        account = first.parameters.get("user", "")
        if "replication" in first.parameters:
            raise SqlError("0A000", "nothing is replicated from here")
        _settings_of(account, first.parameters, {})
        database = first.parameters.get("database", account)
        asked = next(iter(self._desks.values())) if len(self._desks) == 1 else self._desks.get(database)
        prove = self._by_token if self._terms.clear_text else self._by_scram
        desk, caller = await prove(asked, account)
        settings = _settings_of(account, first.parameters, self._terms.defaults.get(account, {}))
        self._reader.signed_in()
        self._channel.write(backend.AUTHENTICATED)
        key_bytes = 4 if first.minor < 2 else 32
        return SignedIn(desk, caller, settings, key_bytes, database)

    async def _first(self) -> frontend.Startup | frontend.CancelRequest | None:
        for _ in range(3):  # GSSENCRequest, SSLRequest, and what comes then
            message = await self._next()
            if message is None or isinstance(message, frontend.Startup | frontend.CancelRequest):
                return message
            if not isinstance(message, frontend.EncryptionRequest):
                break
            if message.method == "gss" or self._terms.encryption is None or self._channel.is_encrypted:
                self._channel.write(b"N")
                continue
            if self._reader.held:
                raise ProtocolError("bytes came before TLS did")
            self._channel.write(b"S")
            encryption = self._terms.encryption()
            self._end_point = encryption.end_point
            await self._channel.encrypt(encryption.context)
        raise ProtocolError("a session starts with a startup packet")

    def _negotiate(self, first: frontend.Startup) -> None:
        unknown = [name for name in first.parameters if name.startswith("_pq_.")]
        if first.minor > backend.NEWEST_MINOR or unknown:
            minor = min(first.minor, backend.NEWEST_MINOR)
            self._channel.write(backend.negotiate_version(minor, unknown))

    async def _by_scram(self, desk: Desk | None, account: str) -> tuple[Desk, Caller]:
        stored = None if desk is None else await self._asked(lambda: desk.verifier(account))
        known = None if stored is None else Verifier.parse(stored)
        where = next(iter(self._desks.values())) if desk is None else desk
        verifier = known or Verifier.mock(where.challenge_secret, account)
        self._channel.write(backend.sasl_asked([PLAIN] if self._end_point is None else [PLUS, PLAIN]))
        mechanism, data = read_initial_response(await self._secret_message())
        asked = challenge(mechanism, data, verifier, b64encode(self._terms.draw(18)), self._end_point)
        self._channel.write(backend.sasl_step(asked.message))
        final = asked.finish((await self._secret_message()).body)
        if final is None or known is None or desk is None:
            await self._in_thread(lambda: where.refuse(account, "sign-in", "sign-in"))
            raise _refused()
        caller = await self._asked(lambda: desk.admit(account, "scram"))
        self._channel.write(backend.sasl_step(final, last=True))
        return desk, caller

    async def _by_token(self, desk: Desk | None, account: str) -> tuple[Desk, Caller]:
        if not self._channel.is_encrypted:
            raise SqlError("28000", "tokens are sent inside TLS alone", "Connect with sslmode=require or more.")
        self._channel.write(backend.CLEAR_TEXT_ASKED)
        token = read_password(await self._secret_message())
        if desk is None:
            raise _refused()
        return desk, await self._asked(lambda: desk.sign_in(account, token))

    async def _asked(self, call: Callable[[], _T]) -> _T:
        """What a desk says. That it can say nothing now, as its ledger is locked, it says of every account."""
        try:
            return await self._in_thread(call)
        except Refusal as refusal:
            raise (_refused() if refusal.kind == "sign-in" else error_of(refusal)) from None

    async def _secret_message(self) -> frontend.Secret:
        message = await self._next()
        if message is None:
            raise ConnectionResetError
        if not isinstance(message, frontend.Secret):
            raise ProtocolError("sign in first")
        return message

    async def _next(self) -> frontend.Message | None:
        while (message := self._reader.read()) is None:
            data = await self._channel.read()
            if not data:
                return None
            self._reader.feed(data)
        return message


def _refused() -> SqlError:
    return SqlError(
        "28P01",
        "sign-in failed: there is no such account, or the token is another",
        "The owner of the data grants accounts: one is the user, its token the password, and the source the database.",
    )


def _settings_of(account: str, parameters: Mapping[str, str], defaults: Mapping[str, str]) -> Settings:
    """An account's own settings, those of a startup packet, and of its ``options='-c name=value'``."""
    settings = Settings(account)
    for name, value in defaults.items():
        settings = settings.set(name, value)
    options = parameters.get("options", "").lstrip()
    at = 0
    while at < len(options):
        match = _OPTION.match(options, at)
        if match is None:
            raise SqlError("42601", "options are written -c name=value")
        settings = settings.set(match[1].replace("-", "_"), re.sub(r"\\(.)", r"\1", match[2]))
        at = match.end()
    for name, value in parameters.items():
        if name in _NOT_SETTINGS or name.startswith("_pq_."):
            continue
        if name.lower() == "timezone":  # JDBC sends that of its machine; the session says that it is UTC
            continue
        settings = settings.set(name, value)
    return settings.started()
