"""Forked children of a small process, for the scripts of this folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable


def child(work: Callable[[], int]) -> int:
    """Fork; the child's exit status is what `work` returns, or 255 after a traceback."""
    pid = os.fork()
    if pid:
        return pid
    status = 255
    try:
        status = work()
    except BaseException:  # noqa: BLE001
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)


def end(pid: int) -> int:
    """How a child ended: its exit status, or a signal's number below zero."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
