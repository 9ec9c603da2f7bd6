"""`discreet collect` as processes of their own, and the CPU seconds they took."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

_COLLECT = [sys.executable, "-m", "discreet.cli", "collect"]


class Collector:
    """`discreet collect serve` of one document. `cpu` are its seconds, once it has ended."""

    def __init__(self, document: Path, store: Path) -> None:
        self._words = ["serve", "--scheme", str(document), "--store", str(store), "--port", "0"]
        self.address, self.cpu = "", 0.0

    def __enter__(self) -> Collector:
        self._process = subprocess.Popen([*_COLLECT, *self._words], stderr=subprocess.PIPE, encoding="utf-8")
        try:
            said = self._process.stderr.readline()  # where it listens, once it does
        except BaseException:
            self.__exit__()
            raise
        if not said:
            ended(self._process)
        self.address = said.split()[-1]
        return self

    def __exit__(self, *_failure: object) -> None:
        os.kill(self._process.pid, signal.SIGTERM)  # it ends what has begun; nobody has waited for it yet
        self._process.stderr.read()
        self._process.stderr.close()
        self.cpu = ended(self._process)


def collect(*words: str) -> tuple[str, float]:
    """What `discreet collect` prints, and its CPU seconds."""
    process = subprocess.Popen([*_COLLECT, *words], stdout=subprocess.PIPE, encoding="utf-8")
    said = process.stdout.read()
    process.stdout.close()
    return said, ended(process)


def ended(process: subprocess.Popen[str]) -> float:
    """Wait for a process; its CPU seconds. Where it failed, and was not stopped before it listened, this ends too."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, -signal.SIGTERM, 128 + signal.SIGTERM):
        raise SystemExit(f"{' '.join(process.args[1:5])} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime
