"""What the workers of a server tell each other: short messages to all the others, over sockets that only they have."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

__all__ = ["BEGUN", "Bus", "WorkerBus"]

BEGUN = "begun"
"""The topic by which a worker tells that it has begun: what its place did before has ended."""


_MOST = 1 << 16
_PAUSE, _TRIES = 0.01, 500
Message = Mapping[str, Any]


class Bus:
    """A bus of one worker alone: nobody hears. `WorkerBus` has others.

    `place` is the worker's own among them: one that dies is begun again in its place, and says so by `BEGUN`.
    """

    place = 0

    def listen(self, topic: str, hear: Callable[[Message], object]) -> None:
        """Call `hear` with each message of a topic that another worker sends, on the event loop."""

    def tell(self, topic: str, message: Message) -> None:
        """Send a message to all other workers, from the event loop."""


class WorkerBus(Bus):
    """The bus of one of several workers. Make its `sockets` before the workers are forked."""

    def __init__(self, sockets: Sequence[tuple[socket.socket, socket.socket]], place: int) -> None:
        self._inbox = sockets[place][0]
        self._others = [each for other, (_, each) in enumerate(sockets) if other != place]
        self._hear: dict[str, Callable[[Message], object]] = {}
        self.place = place

    @staticmethod
    def sockets(workers: int) -> list[tuple[socket.socket, socket.socket]]:
        """For each worker where it reads, and where the others write to it."""
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(workers)]
        for pair in pairs:
            for each in pair:
                each.setblocking(False)  # noqa: FBT003
        return pairs

    def open(self) -> Self:
        """Begin to read, on the running event loop, and tell the others."""
        asyncio.get_running_loop().add_reader(self._inbox, self._read)
        self.tell(BEGUN, {"worker": self.place})
        return self

    def close(self) -> None:
        """Read no more."""
        asyncio.get_running_loop().remove_reader(self._inbox)

    def listen(self, topic: str, hear: Callable[[Message], object]) -> None:
        """See `Bus.listen`."""
        self._hear[topic] = hear

    def tell(self, topic: str, message: Message) -> None:
        """See `Bus.tell`. A message that a worker has no room for within five seconds is lost to it."""
        data = json.dumps([topic, message]).encode()
        if len(data) <= _MOST:
            for each in self._others:
                self._send(each, data, _TRIES)

    def _send(self, to: socket.socket, data: bytes, tries: int) -> None:
        try:
            to.send(data)
        except BlockingIOError:
            if tries:
                asyncio.get_running_loop().call_later(_PAUSE, self._send, to, data, tries - 1)

    def _read(self) -> None:
        while True:
            try:
                data = self._inbox.recv(_MOST)
            except BlockingIOError:
                return
            topic, message = json.loads(data)
            hear = self._hear.get(topic)
            if hear is not None:
                hear(message)
