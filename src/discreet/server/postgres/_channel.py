"""A connection's bytes, in the clear or in TLS, of which few are held."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable

__all__ = ["CHUNK", "Channel"]

CHUNK = 4_096
"""Bytes that are read at once. Beside them a channel holds one record of TLS, which has 16 KiB."""
_WRITTEN = 1 << 16


class Channel(asyncio.BufferedProtocol):
    """One connection as a stream. `on_open` is called with it once it is there.

    `asyncio.StreamReader` takes 256 KiB at once, and `asyncio`'s TLS as much again, before anybody has signed in: here
    reading stops while a chunk waits, and TLS goes through memory of its own.
    """

    def __init__(self, on_open: Callable[[Channel], None]) -> None:
        self._on_open = on_open
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray(CHUNK)
        self._waiting = bytearray()
        self._transport: asyncio.Transport | None = None
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._ended = False
        self._finished = False
        self._tls: ssl.SSLObject | None = None
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()

    # what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.BaseProtocol`."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=_WRITTEN)
        self._on_open(self)

    def get_buffer(self, sizehint: int) -> bytearray:  # noqa: ARG002
        """See `asyncio.BufferedProtocol`."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """See `asyncio.BufferedProtocol`."""
        self._waiting += self._buffer[:nbytes]
        self._arrived.set()
        if self._transport is not None:
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        """See `asyncio.BufferedProtocol`: what is on its way out may still go."""
        self._ended = True
        self._arrived.set()
        return True

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """See `asyncio.BaseProtocol`."""
        self._ended = True
        self._arrived.set()
        self._writable.set()
        self._transport = None

    def pause_writing(self) -> None:
        """See `asyncio.BaseProtocol`."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """See `asyncio.BaseProtocol`."""
        self._writable.set()

    # what a session calls

    @property
    def is_encrypted(self) -> bool:
        """Whether TLS has been agreed on."""
        return self._tls is not None

    @property
    def address(self) -> str:
        """Where the other end is, to count its connections by alone."""
        peer = None if self._transport is None else self._transport.get_extra_info("peername")
        return str(peer[0]) if peer else ""

    @property
    def is_lost(self) -> bool:
        """Whether the other end is gone."""
        return self._transport is None or self._transport.is_closing()

    async def read(self) -> bytes:
        """What came, or nothing at the end. Raises `OSError` for bytes that are no TLS where they should be."""
        if self._tls is None:
            return await self._raw()
        while True:
            try:
                data = self._tls.read(CHUNK)
            except ssl.SSLWantReadError:
                data = None
            except ssl.SSLZeroReturnError:
                return b""
            self._flush_tls()
            if data is not None:
                return data
            raw = await self._raw()
            if not raw:
                return b""
            self._incoming.write(raw)

    async def encrypt(self, context: ssl.SSLContext) -> None:
        """Agree on TLS, as its server. Raises `OSError` if that fails."""
        tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        while True:
            try:
                tls.do_handshake()
            except ssl.SSLWantReadError:
                pass
            else:
                break
            finally:
                self._flush_tls()
            raw = await self._raw()
            if not raw:
                raise ConnectionResetError
            self._incoming.write(raw)
        self._flush_tls()
        self._tls = tls

    def write(self, data: bytes) -> None:
        """Send, when the other end takes it. What is sent to an end that is gone is dropped."""
        if self.is_lost or self._transport is None or self._finished or not data:
            return
        if self._tls is None:
            self._transport.write(data)
            return
        self._tls.write(data)
        self._flush_tls()

    async def drain(self, seconds: float) -> None:
        """Wait until little is left to send. Raises `TimeoutError` where the other end takes nothing for so long."""
        if not self._writable.is_set():
            async with asyncio.timeout(seconds):
                await self._writable.wait()

    async def discard(self, most: int) -> None:
        """Say that nothing more will be sent, and drop what still comes, up to so many bytes."""
        self._finished = True
        if self._tls is None and self._transport is not None and self._transport.can_write_eof():
            self._transport.write_eof()
        while most > 0 and (data := await self._raw()):
            most -= len(data)

    def close(self) -> None:
        """Send what is left, and close."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    async def _raw(self) -> bytes:
        while not self._waiting:
            if self._ended or self._transport is None:
                return b""
            self._arrived.clear()
            if not self._transport.is_reading():
                self._transport.resume_reading()
            await self._arrived.wait()
        data = bytes(self._waiting)
        self._waiting.clear()
        return data

    def _flush_tls(self) -> None:
        if self._outgoing.pending and self._transport is not None and not self._transport.is_closing():
            self._transport.write(self._outgoing.read())
