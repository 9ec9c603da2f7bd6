"""Two servers: results are the sum and the stated noise; every report is used once; what is public fits together."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from two_server_laws import COMMON, COUNT, HISTOGRAM, KEY, SCHEMES, SETS, SUM, SUMS, both, exchange, total

import discreet as dp
from discreet.errors import DataError, ParameterError
from discreet.local import (
    PublishedShare,
    Reports,
    Total,
    TwoServerCount,
    TwoServerHistogram,
    TwoServers,
    TwoServerSets,
    TwoServerSum,
    TwoServerSums,
    commitment,
)
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace
from discreet.noise import discrete_laplace

IDS = [scheme.protocol for scheme, _ in SCHEMES]


def sums(scheme: TwoServers, values: np.ndarray) -> list[int]:
    if isinstance(scheme, TwoServerHistogram):
        return np.bincount(values, minlength=scheme.domain.size).tolist()
    return [int(values.sum())]


@pytest.fixture
def told_noise(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Fraction, np.ndarray]]:
    """The noise that is drawn: the real one, written down."""
    drawn: list[tuple[Fraction, np.ndarray]] = []

    def noise(scale: Fraction, size: int) -> np.ndarray:
        drawn.append((scale, discrete_laplace(scale, size)))
        return drawn[-1][1]

    monkeypatch.setattr("discreet.mechanisms.additive._discrete_laplace.discrete_laplace", noise)
    return drawn


@pytest.mark.parametrize(("scheme", "size"), SCHEMES, ids=IDS)
def test_the_total_is_the_sum_and_a_full_noise_of_each_server(scheme, size, told_noise) -> None:
    values = np.arange(300) % size
    found = total(scheme, values)
    assert found.reports == 300
    assert len(told_noise) == 2
    for scale, noise in told_noise:
        assert scale == scheme.noise.scale
        assert len(noise) == scheme.circuit.shape.outputs
    expected = [s + int(a) + int(b) for s, a, b in zip(sums(scheme, values), *(n for _, n in told_noise), strict=True)]
    assert list(found.values) == expected


@pytest.mark.parametrize("size", [2, 7, 100, 101, 600])
def test_histograms_of_any_size_without_noise(size, monkeypatch) -> None:
    module = "discreet.mechanisms.additive._discrete_laplace.discrete_laplace"
    monkeypatch.setattr(module, lambda _, count: np.zeros(count, dtype=np.int64))
    names = [f"name {i}" for i in range(size)]
    values = np.arange(30) * 7 % size
    found = total(TwoServerHistogram(domain=names, **COMMON), [names[i] for i in values])
    assert list(found.values) == np.bincount(values, minlength=size).tolist()


def test_a_total_may_be_below_zero(monkeypatch) -> None:
    noises = iter([np.array([-5]), np.array([2])])
    monkeypatch.setattr("discreet.mechanisms.additive._discrete_laplace.discrete_laplace", lambda *_: next(noises))
    assert total(COUNT, [True]).values == (-2,)


def test_the_largest_values_fit(monkeypatch) -> None:
    module = "discreet.mechanisms.additive._discrete_laplace.discrete_laplace"
    monkeypatch.setattr(module, lambda _, count: np.zeros(count, dtype=np.int64))
    scheme = TwoServerSum(bound=2**32 - 1, **COMMON)
    assert total(scheme, [2**32 - 1, 2**63 - 1, 0]).values == (2 * (2**32 - 1),)


def test_one_server_alone_has_all_the_noise_that_the_loss_needs() -> None:
    # 4000 publications of one state; the share of them within ±2 is binomial. Alarm below 1e-9: 6.2 deviations.
    servers = both(COUNT)
    exchange(servers, COUNT.client().encode([True, False, True]))
    for index, server in enumerate(servers):
        state, modulus = bytes(server), COUNT.circuit.field.modulus
        clean = COUNT.circuit.field.numbers(server._sum)[0]
        noise = [(COUNT.server(index, KEY, state).publish().values[0] - clean) % modulus for _ in range(4000)]
        within = sum(min(each, modulus - each) <= 2 for each in noise)
        q = np.exp(-0.5)
        share = 1 - 2 * q**3 / (1 + q)
        assert abs(within - 4000 * share) < 6.2 * np.sqrt(4000 * share * (1 - share))


def test_several_numbers_and_several_choices_add_up(told_noise) -> None:
    rows = [[0, 5, 1], [3, 3, 9], [0, 0, 0]]
    found = total(SUMS, rows)
    noise = sum(each for _, each in told_noise)
    assert found.values == tuple((np.minimum(rows, 5).sum(axis=0) + noise).tolist())
    told_noise.clear()
    found = total(SETS, [[0, 4], [4], [], [1, 4]])
    assert found.values == tuple((np.array([1, 1, 0, 0, 3]) + sum(each for _, each in told_noise)).tolist())
    assert [scale for scale, _ in told_noise] == [SETS.noise.scale] * 2


def test_the_sensitivity_of_several_is_what_one_client_can_move() -> None:
    sets = np.array([each for each in product((0, 1), repeat=5) if sum(each) <= 2])
    rows = np.array(list(product(range(6), repeat=3)))
    for scheme, values in ((SETS, sets), (SUMS, rows)):
        field = scheme.circuit.field
        sums = scheme.circuit.truncated(scheme.circuit.encode(values))
        assert field.numbers(sums.reshape(-1, field.limbs)) == values.ravel().tolist()
        moves = np.abs(values[:, None] - values[None])
        expected = moves.sum(axis=2).max(), (moves**2).sum(axis=2).max(), moves.max()
        assert (scheme.sensitivity.l1, scheme.sensitivity.l2_squared, scheme.sensitivity.linf) == expected
    for size, most in ((2, 1), (3, 2), (3, 3), (4, 2)):
        sets = np.array([each for each in product((0, 1), repeat=size) if sum(each) <= most])
        differ = (sets[:, None] != sets[None]).sum(axis=2).max()
        assert TwoServerSets(domain=size, most=most, **COMMON).sensitivity.l1 == differ


@pytest.mark.parametrize(("scheme", "size"), SCHEMES, ids=IDS)
def test_the_sensitivity_is_what_one_client_can_move(scheme, size) -> None:
    field = scheme.circuit.field
    encoded = scheme.circuit.truncated(scheme.circuit.encode(np.arange(size)))
    outputs = [np.array(field.numbers(each), dtype=object) for each in encoded]
    moves = [one - other for one, other in product(outputs, outputs)]
    l1, l2 = max(abs(move).sum() for move in moves), max((move**2).sum() for move in moves)
    if isinstance(scheme, TwoServerHistogram):
        assert (scheme.sensitivity.l1, scheme.sensitivity.l2_squared) == (l1, l2)
        assert scheme.sensitivity.linf == max(abs(move).max() for move in moves)
    else:
        assert scheme.sensitivity == l1 == l2**0.5


MAKERS: list[Callable[..., TwoServers]] = [
    TwoServerCount,
    lambda **common: TwoServerSum(bound=9, **common),
    lambda **common: TwoServerHistogram(domain=["a", "b"], **common),
]


@pytest.mark.parametrize("make", MAKERS, ids=IDS)
@pytest.mark.parametrize(
    ("spend", "kind"),
    [
        (dp.pure("1/10"), DiscreteLaplace),
        (dp.approx(1, 0), DiscreteLaplace),
        (dp.approx(1, "1e-6"), DiscreteGaussian),
        (dp.rho("1/50"), DiscreteGaussian),
    ],
    ids=str,
)
def test_losses_are_those_that_were_spent(make: Callable[..., TwoServers], spend, kind) -> None:
    scheme = make(**{**COMMON, "spend": spend})
    assert isinstance(scheme.noise, kind)
    assert scheme.loss.fits(spend)
    assert scheme.loss == scheme.noise.loss(scheme.sensitivity)


def test_a_spend_that_no_noise_here_meets_is_refused() -> None:
    with pytest.raises(ParameterError, match="mu"):
        TwoServerCount(**{**COMMON, "spend": dp.mu(1)})
    with pytest.raises(ParameterError, match=r"2\*\*50"):
        TwoServerSum(bound=2**32 - 1, **{**COMMON, "spend": dp.pure("1e-6")})


def pmf(noise: DiscreteLaplace | DiscreteGaussian, reach: int) -> np.ndarray:
    k = np.abs(np.arange(-reach, reach + 1)).astype(float)
    laplace = isinstance(noise, DiscreteLaplace)
    weights = np.exp(-k / float(noise.scale)) if laplace else np.exp(-(k**2) / (2 * float(noise.sigma) ** 2))
    return weights / weights.sum()


@pytest.mark.parametrize("width", ["0.001", "0.3", "1", "4", "31", "32", "47.5"])
@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian])
def test_the_error_of_a_total_is_that_of_two_noises(kind, width) -> None:
    noise = kind(width)
    found = Total((0,), 1, noise)
    one = pmf(noise, 40 * max(1, round(float(width))))
    law = np.convolve(one, one)
    middle = len(law) // 2
    assert found.std == pytest.approx(np.sqrt((np.arange(-middle, middle + 1) ** 2 * law).sum()), rel=1e-6, abs=1e-9)
    for level in (0.01, 0.5, 0.95, 0.999, 1 - 1e-9):
        least = next(k for k in range(middle + 1) if law[middle - k : middle + k + 1].sum() >= level - 1e-13)
        assert found.error(level) in (least, least + 1)


@pytest.mark.parametrize("noise", [DiscreteLaplace(3), DiscreteGaussian(3), DiscreteGaussian(300)], ids=str)
def test_errors_are_found_at_any_level(noise) -> None:
    found = [Total((0,), 1, noise).error(1 - Fraction(1, 10**digits)) for digits in (1, 6, 12, 30, 100)]
    assert found == sorted(set(found))
    for level in (0, 1, -1, 2):
        with pytest.raises(ParameterError, match="level"):
            Total((0,), 1, noise).error(level)


def test_every_report_is_used_once() -> None:
    servers, reports = both(COUNT), COUNT.client().encode([True] * 5)
    twice = tuple(Reports.together([each, each]) for each in reports)
    exchange(servers, twice)
    assert [(s.reports, s.rejected, s.waiting) for s in servers] == [(5, 5, 0)] * 2
    exchange(servers, reports)
    assert [(s.reports, s.rejected) for s in servers] == [(5, 10)] * 2
    for server in servers:
        server.publish()
    exchange(servers, reports)
    reloaded = tuple(COUNT.server(i, KEY, bytes(server)) for i, server in enumerate(servers))
    exchange(reloaded, reports)
    assert [(s.reports, s.rejected) for s in reloaded] == [(0, 20)] * 2


def test_messages_may_come_again_and_out_of_order() -> None:
    (one, two), (first, second) = both(SUM), SUM.client().encode([1, 2, 3])
    said_one = one.check(first)
    assert len(two.judge(said_one)) == 0  # nothing has come in there yet
    said_two = two.check(second)
    verdicts_one = one.judge(said_two)
    assert one.judge(said_two) == verdicts_one
    two.settle(verdicts_one)  # too early, without effect
    assert (two.reports, two.waiting) == (0, 3)
    verdicts_two = two.judge(said_one)
    one.settle(verdicts_two).settle(verdicts_two)
    two.settle(verdicts_one)
    assert one.judge(said_two) == verdicts_one
    assert [s.reports for s in (one, two)] == [3, 3]
    assert SUM.collect(one.publish(), two.publish()).reports == 3


@pytest.mark.parametrize("values", [[], [3, 0, 1]], ids=["none", "some"])
def test_all_that_is_sent_travels_as_bytes(values) -> None:
    def sent(batch: Reports) -> Reports:
        return Reports.from_json(Reports.from_bytes(bytes(batch)).to_json())

    (one, two), (first, second) = both(HISTOGRAM), HISTOGRAM.client().encode(values)
    said = sent(one.check(sent(first))), sent(two.check(sent(second)))
    verdicts = sent(one.judge(said[1])), sent(two.judge(said[0]))
    assert [one.settle(verdicts[1]).reports, two.settle(verdicts[0]).reports] == [len(values)] * 2


def test_a_report_that_only_one_server_gets_is_never_added() -> None:
    (one, two), (first, second) = both(COUNT), COUNT.client().encode([True, False])
    halves = (Reports(first.fingerprint, first.rows[:1]), Reports(second.fingerprint, second.rows[1:]))
    exchange((one, two), halves)
    assert [(s.reports, s.waiting) for s in (one, two)] == [(0, 1)] * 2


def test_a_batch_below_the_minimum_is_not_published() -> None:
    scheme = TwoServerCount(**{**COMMON, "minimum": 3})
    servers = both(scheme)
    exchange(servers, scheme.client().encode([True, True]))
    with pytest.raises(DataError, match="3 to 2"):
        servers[0].publish()
    exchange(servers, scheme.client().encode([True]))
    assert scheme.collect(servers[0].publish(), servers[1].publish()).reports == 3
    with pytest.raises(DataError, match="0 are settled"):
        servers[0].publish()


def test_shares_of_different_reports_do_not_make_a_total() -> None:
    shares = []
    for _ in range(2):
        servers = both(COUNT)
        exchange(servers, COUNT.client().encode([True]))
        shares.append([server.publish() for server in servers])
    assert COUNT.collect(*shares[0]).reports == COUNT.collect(*reversed(shares[1])).reports == 1
    with pytest.raises(DataError, match="same reports"):
        COUNT.collect(shares[0][0], shares[1][1])
    with pytest.raises(DataError, match="first and one of the second"):
        COUNT.collect(shares[0][0], shares[0][0])
    with pytest.raises(DataError, match="first and one of the second"):
        SUM.collect(*shares[0])
    one = shares[0][0]
    for values in ((), (1, 2), (2**64,)):
        with pytest.raises(DataError, match="values"):
            COUNT.collect(PublishedShare(one.fingerprint, one.batch, one.reports, values), shares[0][1])


@pytest.mark.parametrize(("scheme", "size"), SCHEMES, ids=IDS)
def test_a_state_is_a_server(scheme, size) -> None:
    servers = both(scheme)
    exchange(servers, scheme.client().encode(np.arange(7) % size))
    states = [bytes(server) for server in servers]
    again = tuple(scheme.server(i, KEY, state) for i, state in enumerate(states))
    assert [bytes(server) for server in again] == states
    assert [repr(server) for server in again] == [repr(server) for server in servers]
    exchange(again, scheme.client().encode(np.arange(3) % size))
    assert scheme.collect(again[0].publish(), again[1].publish()).reports == 10


def test_a_state_that_is_none_is_refused() -> None:
    servers = both(COUNT)
    exchange(servers, COUNT.client().encode([True, False]))
    state = bytes(servers[0])
    with pytest.raises(DataError, match="another server"):
        COUNT.server(1, KEY, state)
    generator = np.random.default_rng(3)
    for _ in range(300):
        wrong = bytearray(state)
        wrong[generator.integers(len(wrong))] ^= 1 << generator.integers(8)
        with pytest.raises(DataError):
            COUNT.server(0, KEY, bytes(wrong))
    for end in range(len(state)):
        with pytest.raises(DataError):
            COUNT.server(0, KEY, state[:end])


def test_what_was_published_travels() -> None:
    servers = both(HISTOGRAM)
    exchange(servers, HISTOGRAM.client().encode([0, 1, 3]))
    share = servers[0].publish()
    wire = bytes(share)
    assert PublishedShare.from_bytes(wire) == share
    generator = np.random.default_rng(4)
    for _ in range(300):
        wrong = bytearray(wire)
        wrong[generator.integers(len(wrong))] ^= 1 << generator.integers(8)
        with pytest.raises(DataError):
            PublishedShare.from_bytes(bytes(wrong))
    for end in range(len(wire)):
        with pytest.raises(DataError):
            PublishedShare.from_bytes(wire[:end])


def test_batches_go_where_they_belong() -> None:
    (one, two), (first, second) = both(COUNT), COUNT.client().encode([True])
    foreign = TwoServerCount(**{**COMMON, "minimum": 2}).client().encode([True])[0]
    for wrong in (second, foreign):
        with pytest.raises(DataError, match="for this server"):
            one.check(wrong)
    said = one.check(first), two.check(second)
    with pytest.raises(DataError, match="message of the other"):
        one.judge(said[0])
    verdicts = one.judge(said[1]), two.judge(said[0])
    with pytest.raises(DataError, match="verdicts of the other"):
        one.settle(verdicts[0])
    assert (one.reports, one.rejected) == (0, 0)


@pytest.mark.parametrize("scheme", [COUNT, SUM, HISTOGRAM, SUMS, SETS], ids=lambda scheme: scheme.protocol)
def test_one_document_for_everybody(scheme) -> None:
    document = scheme.to_json()
    assert TwoServers.from_json(document) == scheme
    assert TwoServers.from_json(document.encode()).fingerprint("report 0") == scheme.fingerprint("report 0")
    known = json.loads(document)
    for wrong in (
        "", "[]", "null", "[" * 100_000, {**known, "version": 2}, {**known, "version": True}, {**known, "version": 1.0},
        {**known, "scheme": "hadamard"}, {**known, "more": 1},
        {**known, "minimum": 0}, {**known, "minimum": True}, {**known, "minimum": "9"}, {**known, "commitment": "ab"},
        {**known, "commitment": None}, {**known, "spend": 1}, {**known, "spend": {"kind": "pure"}},
        *({k: v for k, v in known.items() if k != missing} for missing in known),
    ):  # fmt: skip
        with pytest.raises(ParameterError):
            TwoServers.from_json(wrong if isinstance(wrong, str) else json.dumps(wrong))


def test_a_server_has_the_key_that_the_scheme_is_committed_to() -> None:
    for index in (2, -1, True, "0", None):
        with pytest.raises(ParameterError, match="first, 0"):
            COUNT.server(index, KEY)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="committed"):
        COUNT.server(0, bytes(32))
    for key in (b"", bytes(31), "x" * 32):
        with pytest.raises(ParameterError, match="32 bytes"):
            commitment(key)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scheme", "wrong"),
    [
        (COUNT, 2), (COUNT, "yes"), (COUNT, [0, 3]), (COUNT, 0.5), (COUNT, None), (SUM, -1), (SUM, 1.5), (SUM, "3"),
        (SUM, [[1]]), (SUM, None), (SUM, True), (HISTOGRAM, 4), (HISTOGRAM, -1), (HISTOGRAM, "a"), (SUMS, 1),
        (SUMS, [1, 2]), (SUMS, [[1, 2, -1]]), (SUMS, [[[1, 2, 3]]]), (SUMS, ["abc"]), (SUM, [[1], [1, 2]]),
        (SUMS, [[1], [1, 2]]), (SETS, [[0, 1, 2]]),
        (SETS, [[0, 0]]), (SETS, [[5]]), (SETS, "ab"), (SETS, ["ab"]), (SETS, 1), (SETS, None), (SETS, [1]),
    ],
    ids=lambda each: getattr(each, "protocol", None) or repr(each),
)  # fmt: skip
def test_what_cannot_be_reported_is_refused(scheme: TwoServers, wrong: Any) -> None:
    with pytest.raises(ParameterError):
        scheme.client().encode(wrong)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint16, np.int64, np.uint64])
def test_numbers_of_any_size_are_reported(kind) -> None:
    most = int(np.iinfo(kind).max)
    values = np.array([0, 1, most], dtype=kind)
    assert SUM.prepare(values).tolist() == [0, 1, min(most, SUM.bound)]
    assert SUMS.prepare(values[None]).tolist() == [[0, 1, min(most, SUMS.bound)]]


@pytest.mark.parametrize("scheme", [COUNT, SUM, HISTOGRAM], ids=lambda scheme: scheme.protocol)
def test_what_a_mask_hides_is_not_reported(scheme: TwoServers) -> None:
    assert scheme.prepare(np.ma.array([1, 0], mask=[False, False])).tolist() == [1, 0]
    for row in (np.ma.array([1, 0], mask=[False, True]), np.ma.array([1, 0], mask=True)):
        with pytest.raises(ParameterError):
            scheme.prepare(row)


def test_what_a_mask_hides_in_a_row_is_not_reported() -> None:
    for scheme, width in ((SUMS, 3), (SETS, 1)):
        row = np.ma.array([[1, 0, 2][:width]], mask=[[True, False, False][:width]])
        assert scheme.prepare(row.data).shape[0] == 1
        with pytest.raises(ParameterError):
            scheme.prepare(row)


def test_whole_numbers_of_numpy_make_a_scheme() -> None:
    numpy_one = {**COMMON, "minimum": np.int64(COMMON["minimum"])}
    assert TwoServerSums(size=np.int8(3), bound=np.uint16(5), **numpy_one) == TwoServerSums(size=3, bound=5, **COMMON)
    made = [TwoServerSets(domain=5, most=most, **COMMON).to_json() for most in (2, np.int64(2))]
    assert made[0] == made[1]
    assert TwoServerSum(bound=np.uint8(9), **numpy_one).to_json() == TwoServerSum(bound=9, **COMMON).to_json()


def test_what_is_no_batch_is_refused() -> None:
    server = COUNT.server(0, KEY)
    for step in (server.check, server.judge, server.settle):
        with pytest.raises(DataError, match="takes Reports"):
            step(b"reports")  # type: ignore[arg-type]
    for wrong in ("text", b"", bytearray(3)):
        with pytest.raises(DataError, match="not the state"):
            COUNT.server(0, KEY, wrong)  # type: ignore[arg-type]
        with pytest.raises(DataError, match="not what a server published"):
            PublishedShare.from_bytes(wrong)  # type: ignore[arg-type]


def test_no_failure_has_noise_drawn_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever happens while noise is drawn, its reports are in no other publication."""
    servers = both(COUNT)
    exchange(servers, COUNT.client().encode([True] * 3))

    def unlucky(self: Any, value: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(type(COUNT.noise), "release", unlucky)
        with pytest.raises(MemoryError):
            servers[0].publish()
    assert servers[0].reports == 0
    with pytest.raises(DataError, match="0 are settled"):
        servers[0].publish()


@pytest.mark.parametrize("bound", [0, -1, 2**32, True, 1.0, "1"])
def test_a_bound_that_no_sum_has_is_refused(bound) -> None:
    with pytest.raises(ParameterError, match="bound"):
        TwoServerSum(bound=bound, **COMMON)


@pytest.mark.parametrize("wrong", [0, -1, 6, True, 1.0, "1"])
def test_a_size_that_no_sets_have_is_refused(wrong) -> None:
    with pytest.raises(ParameterError, match="most"):
        TwoServerSets(domain=5, most=wrong, **COMMON)
    with pytest.raises(ParameterError, match="size"):
        TwoServerSums(size=wrong if wrong != 6 else 2**16 // 3 + 1, bound=5, **COMMON)


def test_a_histogram_has_a_limit() -> None:
    with pytest.raises(ParameterError, match=r"2\*\*16"):
        TwoServerSets(domain=2**16 + 1, most=1, **COMMON)
    with pytest.raises(ParameterError, match=r"2\*\*16"):
        TwoServerHistogram(domain=2**16 + 1, **COMMON)
