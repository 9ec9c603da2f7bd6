"""What one server sees does not depend on values, and what no honest client sent is not added up."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import chdtri
from two_server_laws import COMMON, COUNT, HISTOGRAM, KEY, SCHEMES, SUM, both, exchange, turned

from discreet.local import Reports, TwoServerHistogram, TwoServers
from discreet.local.two_servers.prio3 import NONCE

IDS = [scheme.protocol for scheme, _ in SCHEMES]


@pytest.fixture
def known_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    generated = np.random.default_rng(5).bytes(10_000)
    monkeypatch.setattr("discreet.local.two_servers._client.secret", lambda size: generated[:size])


@pytest.mark.parametrize(("scheme", "size"), SCHEMES, ids=IDS)
@pytest.mark.usefixtures("known_secrets")
def test_the_second_server_sees_nothing_but_random_bytes(scheme: TwoServers, size: int) -> None:
    """Its report is the drawn bytes themselves, but for the first server's part of the joint randomness: a hash of
    what it does not see, under a blind that it does not see either."""
    prio3 = scheme.prio3
    seen = {value: scheme.client().encode([value])[1].rows[0] for value in range(min(size, 5))}
    part = slice(NONCE, NONCE + prio3.public_size // 2)
    hidden = {bytes(row[part]) for row in seen.values()}
    assert len({bytes(np.delete(row, part)) for row in seen.values()}) == 1
    assert len(hidden) == (len(seen) if prio3.public_size else 1)


@pytest.mark.parametrize(("scheme", "size"), SCHEMES, ids=IDS)
@pytest.mark.usefixtures("known_secrets")
def test_the_first_server_sees_the_value_less_random_elements(scheme: TwoServers, size: int) -> None:
    field, circuit = scheme.circuit.field, scheme.circuit
    start = NONCE + scheme.prio3.public_size
    masks = set()
    for value in range(min(size, 5)):
        report = scheme.client().encode([value])[0].rows[:, start : start + circuit.shape.length * field.size]
        share, good = field.decode(report)
        assert good.all()
        masks.add(field.encode(field.sub(circuit.encode(np.array([value])), share)).tobytes())
    assert len(masks) == 1


def assert_uniform(columns: NDArray[np.uint8]) -> None:
    """Every column of bytes has every byte as often. Alarm below 1e-9 a call: the χ² of all columns is above or below
    what it is with probability 4e-10 each; fields leave out less than 2**-31 of their bytes' values."""
    expected = len(columns) / 256
    found = sum(float(((np.bincount(each, minlength=256) - expected) ** 2).sum()) / expected for each in columns.T)
    freedom = 255 * columns.shape[1]
    assert chdtri(freedom, 1 - 4e-10) < found < chdtri(freedom, 4e-10)


@pytest.mark.parametrize("value", [0, 1])
def test_all_that_a_server_sees_is_uniform_whatever_the_value(value: int) -> None:
    """The first server: its shares. The second: what it draws, and the first's message, which its own share and
    a valid value leave two uniform elements in, the polynomials at the point, with the third being their product."""
    (one, two), (first, second) = both(COUNT), COUNT.client().encode([value] * 20_000)
    assert_uniform(first.rows)
    assert_uniform(second.rows)
    said = one.check(first), two.check(second)
    field = COUNT.circuit.field
    shares = [field.decode(each.rows[:, NONCE:])[0] for each in said]
    for share in shares:
        assert_uniform(field.encode(share))
    verifier = field.add(*shares)
    assert not verifier[:, 0].any()
    assert_uniform(field.encode(verifier[:, 1:3]))
    assert_uniform(field.encode(field.sub(verifier[:, 1:2], verifier[:, 2:3])))
    assert (field.mul(verifier[:, 1], verifier[:, 2]) == verifier[:, 3]).all()


def test_the_uniform_check_finds_what_is_not() -> None:
    generator = np.random.default_rng(6)
    columns = generator.integers(0, 256, (20_000, 8), dtype=np.uint8)
    assert_uniform(columns)
    columns[:, 3] &= 0xFE
    with pytest.raises(AssertionError):
        assert_uniform(columns)


FUZZ = [(COUNT, 2, 3000), (SUM, 201, 1500), (HISTOGRAM, 4, 1000)]
TIMES = [pytest.param(1, id="daily"), pytest.param(10, id="soak", marks=pytest.mark.soak)]


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize(("scheme", "size", "count"), FUZZ, ids=IDS)
def test_a_bit_of_a_report_turned_over_is_rejected(scheme: TwoServers, size: int, count: int, times: int) -> None:
    # A proof holds by chance with probability below 2**-50.
    generator = np.random.default_rng(7)
    for _ in range(times):
        for index in (0, 1):
            servers, reports = both(scheme), list(scheme.client().encode(np.arange(count // 2) % size))
            reports[index] = turned(reports[index], generator, NONCE)
            exchange(servers, (reports[0], reports[1]))
            assert [(s.reports, s.rejected + s.waiting) for s in servers] == [(0, count // 2)] * 2


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize(("scheme", "size", "count"), FUZZ, ids=IDS)
def test_a_bit_of_a_message_turned_over_is_rejected(scheme: TwoServers, size: int, count: int, times: int) -> None:
    generator, few = np.random.default_rng(8), count // 2
    for _ in range(times):
        for index in (0, 1):
            servers, reports = both(scheme), scheme.client().encode(np.arange(few) % size)
            said = [server.check(batch) for server, batch in zip(servers, reports, strict=True)]
            said[index] = turned(said[index], generator, NONCE)
            verdicts = servers[0].judge(said[1]), servers[1].judge(said[0])
            assert not verdicts[1 - index].rows[:, NONCE].any()
            servers[index].settle(verdicts[1 - index])
            servers[1 - index].settle(verdicts[index])
            assert [(s.reports, s.rejected) for s in servers] == [(0, few)] * 2


@pytest.mark.parametrize(("scheme", "size"), SCHEMES, ids=IDS)
def test_every_bit_of_a_report_counts(scheme: TwoServers, size: int) -> None:
    """Every single one, of the first report's first bytes and last, and of all of the second's."""
    for index in (0, 1):
        bits = np.arange(8 * NONCE, 8 * scheme.client().encode([1])[index].width)
        bits = np.concatenate((bits[:1200], bits[1200:][-400:]))
        reports = list(scheme.client().encode([size - 1] * len(bits)))
        rows = reports[index].rows.copy()
        rows[np.arange(len(bits)), bits // 8] ^= (1 << bits % 8).astype(np.uint8)
        reports[index] = Reports(reports[index].fingerprint, rows)
        servers = both(scheme)
        exchange(servers, (reports[0], reports[1]))
        assert [s.reports for s in servers] == [0, 0]


@pytest.mark.parametrize(("scheme", "size"), SCHEMES, ids=IDS)
def test_rows_of_another_length_or_of_anything_are_rejected(scheme: TwoServers, size: int) -> None:
    generator = np.random.default_rng(9)
    for index in (0, 1):
        batch = scheme.client().encode(np.arange(50) % size)[index]
        server = scheme.server(index, KEY)
        for width in (0, 1, NONCE, batch.width - 1, batch.width + 1, batch.width + 8, 2 * batch.width):
            rows = np.resize(batch.rows, (50, width)) if width else np.zeros((50, 0), dtype=np.uint8)
            assert len(server.check(Reports(batch.fingerprint, rows))) == 0
        assert (server.rejected, server.waiting) == (350, 0)
    anything = [
        Reports(batch.fingerprint, generator.integers(0, 256, batch.rows.shape, dtype=np.uint8))
        for batch in scheme.client().encode(np.arange(500) % size)
    ]
    anything[1].rows[:, :NONCE] = anything[0].rows[:, :NONCE]
    servers = both(scheme)
    exchange(servers, (anything[0], anything[1]))
    assert [s.reports for s in servers] == [0, 0]


@pytest.mark.parametrize(("scheme", "size"), SCHEMES, ids=IDS)
def test_elements_past_the_modulus_are_rejected(scheme: TwoServers, size: int) -> None:
    field = scheme.circuit.field
    start = NONCE + scheme.prio3.public_size
    elements = scheme.prio3.input_sizes[0] // field.size - (32 // field.size if scheme.prio3.public_size else 0)
    first, _ = scheme.client().encode([1] * 3 * elements)
    rows = first.rows.copy()
    for row in range(3 * elements):
        past = (field.modulus, field.modulus + 1, 2 ** (8 * field.size) - 1)[row // elements]
        at = start + row % elements * field.size
        rows[row, at : at + field.size] = np.frombuffer(past.to_bytes(field.size, "little"), dtype=np.uint8)
    server = scheme.server(0, KEY)
    assert len(server.check(Reports(first.fingerprint, rows))) == 0
    assert server.rejected == 3 * elements


def test_a_nonce_that_is_changed_for_both_servers_is_rejected_where_shares_are_bound_to_it() -> None:
    turns, changed = np.arange(128), list[Reports]()
    for batch in HISTOGRAM.client().encode([1] * 128):
        rows = batch.rows.copy()
        rows[turns, turns // 8] ^= (1 << turns % 8).astype(np.uint8)
        changed.append(Reports(batch.fingerprint, rows))
    servers = both(HISTOGRAM)
    exchange(servers, (changed[0], changed[1]))
    assert [s.reports for s in servers] == [0, 0]


@pytest.mark.parametrize("verdict", [0, 2, 255])
def test_what_the_other_server_does_not_accept_is_dropped(verdict: int) -> None:
    (one, two), (first, second) = both(COUNT), COUNT.client().encode([1, 1])
    said = one.check(first), two.check(second)
    one.judge(said[1])
    verdicts = two.judge(said[0])
    rows = verdicts.rows.copy()
    rows[0, NONCE] = verdict
    one.settle(Reports(verdicts.fingerprint, rows))
    assert (one.reports, one.rejected, one.waiting) == (1, 1, 0)


def test_shares_of_one_scheme_are_none_of_another() -> None:
    """The same question with another spend has another context, so that no report counts in both."""
    other = TwoServerHistogram(domain=4, **{**COMMON, "minimum": 2})
    reports = [
        Reports(other.fingerprint(f"report {i}"), batch.rows)
        for i, batch in enumerate(HISTOGRAM.client().encode([1, 2]))
    ]
    servers = both(other)
    exchange(servers, (reports[0], reports[1]))
    assert [s.reports for s in servers] == [0, 0]
