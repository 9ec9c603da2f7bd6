"""A phone: it perturbs what its person says, and posts that. Also a gateway, which posts for many phones at once."""

from __future__ import annotations

import http.client
import json
import secrets
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from discreet import local
from people import EMOJI, WORDS, said

_NAMES = {"emoji": EMOJI, "words": WORDS}
_open: dict[str, Any] = {}


@dataclass(frozen=True)
class Batch:
    """The phones from `start` on, so many of them, and whether their batch is sent `twice`."""

    question: str
    start: int
    phones: int
    twice: bool


@dataclass(frozen=True)
class Sent:
    """What a batch took: bytes of one report and of all that was posted, and CPU seconds."""

    question: str
    width: int
    posted: int
    repeats: int
    encoding: float
    sending: float


def ready(home: str, phones: int, addresses: dict[str, str]) -> None:
    """Load both documents, connect to both collectors, and make up what people say; once in each process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it ends it
    for number, (question, address) in enumerate(addresses.items()):
        scheme = local.from_json(Path(home, f"{question}.json").read_text(encoding="utf-8"))
        line = http.client.HTTPConnection(urlsplit(address).netloc)
        names = np.array(_NAMES[question], dtype=object)
        _open[question] = scheme, line, names[said(_NAMES[question], phones, number)]


def report(batch: Batch) -> Sent:
    """Perturb and post; whatever is not counted exactly once ends it all."""
    scheme, line, everybody = _open[batch.question]
    values = everybody[batch.start : batch.start + batch.phones].tolist()
    began = time.process_time()
    reports = scheme.client().encode(values[0]) if batch.phones == 1 else scheme.simulate(values)
    body, encoded = bytes(reports), time.process_time()
    name, posted, repeats = secrets.token_hex(16), 0, 0
    headers = {"Content-Type": "application/octet-stream", "Idempotency-Key": name}
    for again in (False, True) if batch.twice else (False,):
        line.request("POST", "/reports", body, headers)
        answer = line.getresponse()
        found = json.loads(answer.read())
        if answer.status != 200 or found != {"reports": batch.phones, "rejected": 0, "repeated": again}:
            raise SystemExit(f"the collector answered {answer.status}: {found}")
        posted += len(body)
        repeats += again
    return Sent(batch.question, reports.width, posted, repeats, encoded - began, time.process_time() - encoded)
