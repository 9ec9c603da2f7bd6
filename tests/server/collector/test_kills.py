"""Killed at random under load: every acknowledged report is there, and none twice."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from collectors import BINARY, GUARD, Collector, key, saying, wait_until

SENDERS, NEW = 6, 40


@dataclass
class Sender:
    """Sends batches that each say a value of their own, and what was not acknowledged again and again."""

    values: range
    generator: random.Random
    acknowledged: dict[int, int] = field(default_factory=dict)
    sent: dict[int, tuple[str, bytes, int]] = field(default_factory=dict)
    at: int = 0
    stopped: bool = False

    def run(self, port: int) -> None:
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=GUARD)
        try:
            for value in [each for each in self.sent if each not in self.acknowledged]:
                self.send(line, value)
            for _ in range(NEW):
                if self.stopped:
                    break
                value = self.values[self.at]
                times = self.generator.choice((1, 1, 7, 300))
                self.sent[value] = (key(), bytes(saying(value, times)), times)
                self.at += 1
                self.send(line, value)
                if self.generator.random() < 0.2:
                    self.send(line, self.generator.choice(list(self.acknowledged)))
            while not self.stopped:
                self.send(line, self.generator.choice(list(self.acknowledged)))
        except (OSError, http.client.HTTPException):
            pass
        finally:
            line.close()

    def send(self, line: http.client.HTTPConnection, value: int) -> None:
        name, body, times = self.sent[value]
        line.request("POST", "/reports", body, {"Content-Type": BINARY, "Idempotency-Key": name})
        answer = line.getresponse()
        told = json.loads(answer.read())
        assert answer.status == 200, told
        assert told["reports"] == times
        assert told["repeated"] or value not in self.acknowledged
        self.acknowledged[value] = times


@pytest.mark.parametrize("kills", [3, pytest.param(200, marks=pytest.mark.soak)])
def test_nothing_is_lost_and_nothing_is_counted_twice(
    start: Callable[..., Collector], tmp_path: Path, kills: int
) -> None:
    generator, home = random.Random(kills), tmp_path / "store"
    each = 50_000 // SENDERS
    senders = [Sender(range(i * each, (i + 1) * each), random.Random(i)) for i in range(SENDERS)]

    def acknowledged() -> int:
        return sum(len(sender.acknowledged) for sender in senders)

    for round_ in range(kills + 1):
        collector = start(home, fold=5_000)
        threads = [threading.Thread(target=sender.run, args=(collector.port,)) for sender in senders]
        enough = acknowledged() + generator.randrange(1, SENDERS * NEW // 2)
        for thread in threads:
            thread.start()
        wait_until(lambda enough=enough: acknowledged() >= enough, pause=0.001)
        time.sleep(generator.uniform(0, 0.01))
        if round_ < kills:
            collector.kill()
        else:
            for sender in senders:
                sender.stopped = True
        for thread in threads:
            thread.join()
        counts = collector.counts
        for sender in senders:
            for value, (_, _, times) in sender.sent.items():
                assert counts[value] == times or (counts[value] == 0 and value not in sender.acknowledged), value
        assert counts.sum() == sum(counts[value] for sender in senders for value in sender.sent)
    collector.stop()
    assert acknowledged() > 20 * kills
    for sender in senders:
        assert sender.sent.keys() == sender.acknowledged.keys()
        assert {value: int(collector.counts[value]) for value in sender.sent} == sender.acknowledged


def test_a_kill_at_any_moment_of_starting(start: Callable[..., Collector], tmp_path: Path) -> None:
    collector = start(tmp_path / "store")
    name, body = key(), bytes(saying(1, 5))
    collector.post(body, name)
    collector.kill()
    for wait in (0.05, 0.3):
        half = Collector(tmp_path / "store")
        starter = threading.Thread(target=lambda half=half: _quietly(half))
        starter.start()
        time.sleep(wait)
        while half.process is None:
            time.sleep(0.01)
        half.process.kill()
        starter.join()
        half.kill()
    again = start(tmp_path / "store")
    assert again.post(body, name)[1] == {"reports": 5, "rejected": 0, "repeated": True}
    assert again.reports == 5


def _quietly(collector: Collector) -> None:
    try:
        collector.start()
    except (AssertionError, ValueError):
        return
