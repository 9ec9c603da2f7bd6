"""Work in a forked child, in threads at once, and in a fresh interpreter: what comes back is JSON, or None."""

from __future__ import annotations

import base64
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

__all__ = ["can_fork", "in_child", "in_fresh_interpreter", "in_threads"]

_SECONDS = 60

_FRESH = """
import base64, json, pickle, sys
asked = json.loads(sys.stdin.readline())
sys.path[:] = asked["path"]
from discreet.audit._copies import fresh_draws
told = fresh_draws(asked["name"], pickle.loads(base64.b64decode(asked["data"])), asked["size"])
print("\\n" + json.dumps(told))
"""


def can_fork() -> bool:
    """Whether this platform forks, and can end a child that hangs."""
    return hasattr(os, "fork") and hasattr(signal, "alarm")


def in_child(work: Callable[[], list[str]], seconds: int = _SECONDS) -> list[str] | None:
    """What `work` returns in a forked child; None if it fails there, or takes longer.

    A child of a process with threads may hang, for a lock that a thread held which it does not have: then it is ended.
    """
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that there are threads
        child = os.fork()
    if child == 0:
        _answer(work, write, seconds)
    os.close(write)
    with os.fdopen(read, "rb") as reader:
        told = reader.read()
    os.waitpid(child, 0)
    return _parsed(told)


def _answer(work: Callable[[], list[str]], write: int, seconds: int) -> None:
    """In the child; it never returns, so that nothing of the parent is run twice."""
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        with os.fdopen(write, "wb") as writer:
            writer.write(json.dumps(work()).encode())
    finally:
        os._exit(0)


def in_threads(work: Callable[[], list[str]], count: int) -> list[list[str]]:
    """What `work` returns in each of `count` threads that start together; those that raise are left out."""
    told: list[list[str]] = []
    start = threading.Barrier(count)

    def run() -> None:
        start.wait()
        try:
            answer = work()
        except Exception:  # noqa: BLE001 (whatever it is, there is nothing to compare)
            return
        told.append(answer)

    threads = [threading.Thread(target=run, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_SECONDS)
    return list(told)


def in_fresh_interpreter(name: str, data: Any, size: int) -> list[str] | None:
    """So many outputs, as text, of what `name` stands for in a new process; None if it fails there."""
    asked = {"name": name, "data": base64.b64encode(pickle.dumps(data)).decode(), "size": size, "path": sys.path}
    try:
        run = subprocess.run(  # noqa: S603 (this interpreter, on a fixed text)
            [sys.executable, "-c", _FRESH],
            input=json.dumps(asked) + "\n",
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if run.returncode else _parsed(run.stdout.strip().rpartition("\n")[2].encode())


def _parsed(told: bytes) -> list[str] | None:
    try:
        return json.loads(told) if told else None
    except ValueError:
        return None
