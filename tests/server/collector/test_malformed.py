"""Malformed bodies and heads by the thousand: none is counted, none stops the collector."""

from __future__ import annotations

import base64
import http.client
import json
import random
import zlib
from collections.abc import Callable

import pytest
from collectors import BINARY, SCHEME, Collector, everything, key, request_for, saying, statuses

JSON = "application/json"


def is_batch(body: bytes, kind: str) -> bool:
    """What a batch of this scheme is, said in another way than the collector's."""
    if kind == BINARY:
        count = int.from_bytes(body[11:15], "little")
        return (
            len(body) >= 19
            and body[:3] == b"dr\x01"
            and body[3:11] == SCHEME.fingerprint
            and zlib.crc32(body[:-4]) == int.from_bytes(body[-4:], "little")
            and (len(body) == 19 if count == 0 else len(body) > 19 and (len(body) - 19) % count == 0)
        )
    try:
        found = json.loads(body)
        return (
            isinstance(found, dict)
            and set(found) == {"version", "scheme", "reports"}
            and found["version"] == 1
            and found["version"] is not True
            and bytes.fromhex(found["scheme"]) == SCHEME.fingerprint
            and isinstance(found["reports"], list)
            and len({len(base64.b64decode(each.encode(), validate=True)) for each in found["reports"]} - {0}) <= 1
            and "" not in found["reports"]
        )
    except (ValueError, AttributeError, TypeError, RecursionError):
        return False


def mutated(body: bytes, generator: random.Random) -> bytes:
    some = bytearray(body)
    for _ in range(generator.choice((1, 1, 2, 5))):
        at = generator.randrange(len(some) + 1)
        match generator.randrange(7):
            case 0 if at < len(some):
                some[at] ^= 1 << generator.randrange(8)
            case 1:
                del some[at:]
            case 2:
                some[at:at] = generator.randbytes(generator.choice((1, 4, 100)))
            case 3:
                del some[at : at + generator.choice((1, 2, 8))]
            case 4 if at < len(some):
                some[at] = generator.choice(b'{}[]":,0\x00\xff\\')
            case 5:
                some[at:at] = some[: generator.randrange(40)]
            case _:
                some[11:15] = generator.choice((b"\xff\xff\xff\xff", bytes(4), generator.randbytes(4)))
    return bytes(some)


def sealed(body: bytes) -> bytes:
    """With the checksum that goes with it, so that what is behind the checksum is reached."""
    return body[:-4] + zlib.crc32(body[:-4]).to_bytes(4, "little")


STRANGE = [
    b"[" * 100_000, b'{"a":' * 50_000, b"1" * 5_000, b"NaN", b"null", b'"dr"', b"[]", b"\xff\xfe{}", b"\x00" * 1000,
    b'{"version": 1, "scheme": "%s", "reports": "AAAA"}' % SCHEME.fingerprint.hex().encode(),
    b'{"version": 1, "scheme": "%s", "reports": [[0, 0]]}' % SCHEME.fingerprint.hex().encode(),
    b'{"version": 1, "scheme": "%s", "reports": ["AAA=", "AA=="]}' % SCHEME.fingerprint.hex().encode(),
    b'{"version": 1, "scheme": "%s", "reports": ["\\ud800AA="]}' % SCHEME.fingerprint.hex().encode(),
    b'{"version": 1e400, "scheme": "%s", "reports": []}' % SCHEME.fingerprint.hex().encode(),
]  # fmt: skip


def malformed(generator: random.Random) -> tuple[bytes, str]:
    while True:
        batch = saying(generator.randrange(50_000), generator.choice((0, 1, 3, 50)))
        kind = generator.choice((BINARY, JSON))
        match generator.randrange(6):
            case 0:
                body = generator.randbytes(generator.randrange(200))
            case 1:
                body = generator.choice(STRANGE)
            case 2:
                body = sealed(mutated(bytes(batch), generator))
            case _:
                body = mutated(bytes(batch) if kind == BINARY else batch.to_json().encode(), generator)
        if not is_batch(body, kind):
            return body, kind


@pytest.mark.parametrize("bodies", [2_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_no_malformed_body_is_counted(start: Callable[..., Collector], bodies: int) -> None:
    collector, generator, seen = start(), random.Random(bodies), set()
    line = collector.connect()
    for _ in range(bodies):
        body, kind = malformed(generator)
        line.request("POST", "/reports", body, {"Content-Type": kind, "Idempotency-Key": key()})
        answer = line.getresponse()
        told = answer.read()
        assert answer.status in (400, 409), (body, kind, told)
        seen.add(answer.status)
    line.close()
    assert seen == {400, 409}
    assert collector.get("/healthz")[0] == 200
    assert collector.post(bytes(saying(1, 2)))[1]["reports"] == 2
    assert collector.stop() == ""  # no trouble, no traceback
    assert (collector.reports, collector.counts.sum()) == (2, 2)


@pytest.mark.parametrize("heads", [300, pytest.param(20_000, marks=pytest.mark.soak)])
def test_no_malformed_head_stops_it(start: Callable[..., Collector], heads: int) -> None:
    collector, generator = start(seconds=1), random.Random(heads)
    sound = request_for(b"no batch", "Connection: close", "Accept: */*")
    for _ in range(heads):
        sent = mutated(sound, generator) if generator.random() < 0.9 else generator.randbytes(300) + b"\r\n\r\n"
        for status in statuses(everything_said(collector, sent)):
            assert status in (100, 400, 404, 405, 411, 413, 415, 431), sent
    assert collector.get("/healthz")[0] == 200
    assert collector.stop() == ""
    assert collector.reports == 0


def everything_said(collector: Collector, sent: bytes) -> bytes:
    with collector.raw() as line:
        try:
            line.sendall(sent)
            line.shutdown(1)
        except OSError:
            pass
        return everything(line)


def test_rows_of_all_kinds_in_sound_batches(start: Callable[..., Collector]) -> None:
    """Random rows: as many are counted and rejected as a server by itself counts and rejects."""
    collector, generator = start(), random.Random(1)
    alone = SCHEME.server()
    for _ in range(50):
        rows = generator.randbytes(2 * generator.randrange(1, 200))
        body = sealed(b"dr\x01" + SCHEME.fingerprint + (len(rows) // 2).to_bytes(4, "little") + rows + bytes(4))
        line = http.client.HTTPConnection("127.0.0.1", collector.port)
        line.request("POST", "/reports", body, {"Content-Type": BINARY, "Idempotency-Key": key()})
        told = json.loads(line.getresponse().read())
        line.close()
        before = alone.reports, alone.rejected
        alone.add(type(saying(1)).from_bytes(body))
        assert (told["reports"], told["rejected"]) == (alone.reports - before[0], alone.rejected - before[1])
    collector.stop()
    assert (collector.reports, collector.counts.tolist()) == (alone.reports, alone.counts.tolist())
    assert alone.rejected > 0
