"""A program on a terminal of its own, to type to and to read from."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b[=>78]|\x1b\][^\x07]*\x07")


class Terminal:
    """Runs a program until the block ends; what it shows is kept, without what steers the terminal."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], patience: float = 30) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=dict(environment), start_new_session=True
        )
        os.close(theirs)
        self._patience, self._raw, self._read = patience, b"", 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)

    @property
    def shown(self) -> str:
        """All that was shown so far."""
        return CONTROL.sub("", self._raw.decode(errors="replace"))

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._ours, text.encode())

    def await_text(self, text: str) -> str:
        """What is shown from the last call on, until the text is part of it."""
        end = time.monotonic() + self._patience
        while text not in (new := self.shown[self._read :]):
            assert time.monotonic() < end, f"no {text!r} in {new!r}"
            assert self._take(), f"it ended without {text!r}: {new!r}"
        self._read += new.index(text) + len(text)
        return new

    def wait(self) -> int:
        """The exit code, once all that was shown is read."""
        while self._take():
            pass
        return self.process.wait(self._patience)

    def interrupt(self) -> None:
        """Ctrl-C, as a program gets it that does not read its keys."""
        os.killpg(self.process.pid, signal.SIGINT)

    def _take(self) -> bool:
        if not select.select([self._ours], [], [], 1)[0]:
            return self.process.poll() is None
        try:
            part = os.read(self._ours, 4096)
        except OSError:  # Linux says so when the other end is closed
            return False
        if b"\x1b[6n" in part:  # where is the cursor?
            os.write(self._ours, b"\x1b[1;1R")
        self._raw += part
        return bool(part)
