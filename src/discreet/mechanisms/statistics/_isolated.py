"""A function called on each chunk in a process of its own, of which nothing comes back but one number."""

from __future__ import annotations

import math
import multiprocessing
import os
import pickle
import struct
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from multiprocessing.connection import Connection, wait
from numbers import Real
from typing import Any

from discreet.errors import ParameterError

__all__ = ["answers", "check_function", "here"]

_DOUBLE = struct.Struct("<d")


def check_function(function: Callable[[Any], Any]) -> bytes:
    """The function as the processes receive it; `ParameterError` unless a fresh process can load it. Sees no data."""
    if sys.platform == "win32":
        raise ParameterError("functions are run under a limit of CPU time, which needs Linux or macOS")
    try:
        sent = pickle.dumps(function)
    except Exception as error:
        raise ParameterError(_NOT_LOADED) from error
    _prepare(function)
    probe = _Process(pickle.dumps((_is_callable, sent)), 60)
    while not probe.finished:
        wait([probe.sentinel])
    if probe.number() != 1:
        raise ParameterError(_NOT_LOADED)
    return sent


_NOT_LOADED = (
    "the function must be one that a fresh process can load: define it by name at the top of a module, and not as a "
    "lambda, inside another function or in a notebook; start a script's own work under: if __name__ == '__main__':"
)


def _prepare(function: Callable[[Any], Any]) -> None:
    """Have the server, if it does not run yet, load once what every process would load; it speeds up, and no more."""
    libraries = [name for name in ("numpy", "pyarrow", "pandas") if name in sys.modules]
    home = getattr(function, "__module__", None) or "__main__"
    multiprocessing.get_context("forkserver").set_forkserver_preload(["__main__", __name__, *libraries, home])


def answers(sent: bytes, chunks: Iterable[Any | None], cpu_seconds: int) -> list[float]:
    """The function's number for each chunk, in order; NaN if it gave none, or if the chunk is None. SENSITIVE.

    Each chunk has a fresh process that gets that chunk and nothing of any other, as many at a time as there are CPUs.
    What the function prints goes nowhere, and its error, exit or excess of `cpu_seconds` gives NaN. Time spent waiting
    is not limited: a limit shared by chunks, or one that depends on how busy the machine is, would couple them.
    """
    numbers: list[float] = []
    running: dict[int, _Process] = {}
    try:
        for i, chunk in enumerate(chunks):
            numbers.append(math.nan)
            work = _packed(sent, chunk)
            if work is not None:
                _collect(running, numbers, leave=max(1, os.cpu_count() or 1) - 1)
                running[i] = _Process(work, cpu_seconds)
        _collect(running, numbers, leave=0)
    finally:
        for process in running.values():
            process.stop()
    return numbers


def here(function: Callable[[Any], Any], chunk: Any | None) -> float:
    """The function's number for one chunk, computed in this process: for chunks that are not private."""
    try:
        return math.nan if chunk is None else _number(function(chunk))
    except (Exception, SystemExit):  # noqa: BLE001 (as from a process of its own)
        return math.nan


def _packed(sent: bytes, chunk: Any | None) -> bytes | None:
    """What the process is sent; None for no rows, or rows that cannot be sent."""
    try:
        return None if chunk is None else pickle.dumps((sent, chunk))
    except Exception:  # noqa: BLE001 (an object among the data that cannot be copied must not show)
        return None


def _collect(running: dict[int, _Process], numbers: list[float], leave: int) -> None:
    while len(running) > leave:
        wait([process.sentinel for process in running.values()])
        for i in [i for i, process in running.items() if process.finished]:
            numbers[i] = running.pop(i).number()


class _Process:
    """A call under way, in a process forked from a server that has seen neither data nor an earlier call."""

    def __init__(self, work: bytes, cpu_seconds: int) -> None:
        context = multiprocessing.get_context("forkserver")
        self._reader, writer = context.Pipe(duplex=False)
        self._process = context.Process(target=_work, args=(writer, work, cpu_seconds), daemon=True)
        self._process.start()
        writer.close()
        self.sentinel = self._process.sentinel

    @property
    def finished(self) -> bool:
        return self._process.exitcode is not None

    def number(self) -> float:
        """What came back, once it has finished; NaN for anything but one number."""
        os.set_blocking(self._reader.fileno(), False)
        try:
            came = os.read(self._reader.fileno(), _DOUBLE.size + 1)
        except BlockingIOError:
            came = b""
        self._reader.close()
        self._process.close()
        return _DOUBLE.unpack(came)[0] if len(came) == _DOUBLE.size else math.nan

    def stop(self) -> None:
        self._process.kill()
        self._process.join()
        self._reader.close()


def _work(writer: Connection, work: bytes, cpu_seconds: int) -> None:
    """In the process itself: limit it, make it mute, call, send one number, and end without any clean-up."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    number = math.nan
    try:
        sent, chunk = pickle.loads(work)  # noqa: S301 (made by the parent process)
        function = sent if callable(sent) else pickle.loads(sent)  # noqa: S301
        number = _number(function(chunk))
    except BaseException:  # noqa: BLE001, S110 (whatever it was, it must not show)
        pass
    os.write(writer.fileno(), _DOUBLE.pack(number))
    os._exit(0)


def _number(value: Any) -> float:
    """The value as a float, infinite ones and large ones too; NaN if it is no real number."""
    scalar = value.as_py() if hasattr(value, "as_py") else value
    if not isinstance(scalar, Real):
        return math.nan
    try:
        return float(scalar)
    except OverflowError:
        return math.inf if scalar > Fraction(0) else -math.inf


def _is_callable(sent: bytes) -> bool:
    return callable(pickle.loads(sent))  # noqa: S301 (made by the parent process)
