"""What is true of every protocol: two forms of a batch, servers that add up, and nothing that a batch can break."""

from __future__ import annotations

import itertools
import json
import random
import zlib
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from local_schemes import ALL, SMALL
from pydantic import ValidationError

from discreet.errors import DataError, DiscreetError, ParameterError
from discreet.local import (
    HadamardResponse,
    KaryRandomizedResponse,
    Piecewise,
    Rappor,
    Reports,
    SquareWave,
    Warner,
    from_json,
    json_schema,
)
from discreet.local._codec import Longitudinal
from discreet.local._document import document_of
from discreet.local._domain import Domain, DomainLike
from discreet.rational import Number

EVERY = pytest.mark.parametrize("scheme", [make("1") for make in ALL.values()], ids=list(ALL))
UNBIASED = pytest.mark.parametrize("scheme", [make("1") for make in SMALL.values()], ids=list(SMALL))


def values_for(scheme, count: int) -> list[int]:
    return [i % scheme.domain.size for i in range(count)]


@EVERY
def test_a_batch_is_the_same_in_both_forms(scheme) -> None:
    reports = scheme.simulate(values_for(scheme, 40))
    assert len(bytes(reports)) == 19 + 40 * scheme.layout.width
    assert Reports.from_bytes(bytes(reports)) == reports == Reports.from_json(reports.to_json())
    empty = scheme.simulate([])
    assert len(Reports.from_bytes(bytes(empty))) == 0 == len(Reports.from_json(empty.to_json()))
    assert scheme.server().add(empty).reports == 0


@EVERY
def test_merged_servers_are_one_server_bit_for_bit(scheme) -> None:
    batches = [scheme.simulate(values_for(scheme, n)) for n in (1, 7, 300, 0, 50)]
    one = scheme.server()
    for batch in batches:
        assert one.add(batch) is one
    together = scheme.server().add(Reports.together(batches))
    halves = [scheme.server().add(batch) for batch in reversed(batches)]
    merged = halves[0]
    for half in halves[1:]:
        merged = merged + half
    assert bytes(one) == bytes(together) == bytes(merged)
    before = bytes(halves[0])
    assert bytes(sum(halves)) == bytes(one)
    assert bytes(halves[0]) == before
    for other in (1, True, 0.0, None):
        with pytest.raises(TypeError, match="unsupported operand"):
            other + one
    assert one == scheme.server(state=bytes(one))
    assert one.reports == 358
    assert np.array_equal(one.estimate().frequencies, merged.estimate().frequencies)


@EVERY
def test_a_scheme_survives_json(scheme) -> None:
    found = from_json(scheme.to_json())
    assert found == scheme
    assert found.fingerprint == scheme.fingerprint
    assert found.server().add(scheme.simulate(values_for(scheme, 5))).rejected == 0


def damaged(whole: bytes, turn: int, source: random.Random) -> bytes:
    """A bit is changed, the end is missing, something follows, or it is noise."""
    match turn % 4:
        case 0:
            data = bytearray(whole)
            data[source.randrange(len(data))] ^= 1 << source.randrange(8)
            return bytes(data)
        case 1:
            return whole[: source.randrange(len(whole))]
        case 2:
            return whole + source.randbytes(source.randrange(1, 40))
        case _:
            return source.randbytes(source.randrange(60))


@EVERY
@pytest.mark.parametrize("times", [1500, pytest.param(100_000, marks=pytest.mark.soak)])
def test_damaged_batches_are_refused(scheme, times) -> None:
    source = random.Random(scheme.protocol)
    reports = scheme.simulate(values_for(scheme, 9))
    whole, text = bytes(reports), reports.to_json().encode()
    for turn in range(times):
        with pytest.raises(DataError):
            Reports.from_bytes(damaged(whole, turn, source))
        changed = damaged(text, turn, source)
        try:
            found = Reports.from_json(changed)
        except DataError:
            continue
        assert turn % 4 == 0 or not changed[len(text) :].strip()  # a letter of base64 or of the fingerprint, or blanks
        assert len(found) == 9


@EVERY
@pytest.mark.parametrize("times", [500, pytest.param(100_000, marks=pytest.mark.soak)])
def test_forged_batches_are_counted_row_by_row_or_not_at_all(scheme, times) -> None:
    """Whoever forges a batch can make its checksum right: rows that no client sends are rejected, one at a time."""
    source = random.Random(scheme.protocol)
    honest = bytes(scheme.simulate(values_for(scheme, 9)))[:-4]
    accepted = 0
    for turn in range(times):
        body = honest[:11] + damaged(honest[11:], turn, source)
        try:
            found = Reports.from_bytes(body + zlib.crc32(body).to_bytes(4, "little"))
        except DataError:
            continue
        server = scheme.server().add(found)
        assert server.reports + server.rejected == len(found)
        assert server.reports == 0 or found.width == scheme.layout.width
        assert (server.counts >= 0).all()
        accepted += server.reports
    assert accepted  # a changed bit of a report is often another report
    noise = np.frombuffer(source.randbytes(700 * scheme.layout.width), dtype=np.uint8).reshape(700, -1)
    server = scheme.server().add(Reports(scheme.fingerprint, noise))
    assert server.reports + server.rejected == 700
    wide = np.zeros((3, scheme.layout.width + 1), dtype=np.uint8)
    assert scheme.server().add(Reports(scheme.fingerprint, wide)).rejected == 3


@EVERY
def test_what_is_not_a_state_is_refused(scheme) -> None:
    state = bytes(scheme.server().add(scheme.simulate(values_for(scheme, 5))))
    for at in range(len(state)):
        damaged = bytearray(state)
        damaged[at] ^= 1
        with pytest.raises(DataError):
            scheme.server(state=bytes(damaged))
    with pytest.raises(DataError):
        scheme.server(state=state[:-1])


@EVERY
def test_states_that_no_reports_add_up_to_are_refused(scheme) -> None:
    """Whoever can write a state can write a checksum; what they cannot do is make sums overflow, or counts negative."""
    honest = bytes(scheme.server().add(scheme.simulate(values_for(scheme, 5))))
    for numbers in ([-1, 0], [5, -1], [5, 0, 6], [5, 0, -1], [2**62, 0] + [2**62] * scheme.cells, [2**63 - 1] * 4):
        vector = np.zeros(2 + scheme.cells, dtype="<i8")
        vector[: len(numbers)] = numbers[: vector.size]
        body = honest[:11] + vector.tobytes()
        with pytest.raises(DataError, match="add up"):
            scheme.server(state=body + zlib.crc32(body).to_bytes(4, "little"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{}",
        '{"version": 1, "scheme": "00", "reports": []}',
        '{"version": 2, "scheme": "0011223344556677", "reports": []}',
        '{"version": 1, "scheme": "0011223344556677", "reports": ["AA==", "AAA="]}',
        '{"version": 1, "scheme": "0011223344556677", "reports": ["?"]}',
        '{"version": 1, "scheme": "0011223344556677", "reports": [""]}',
        '{"version": 1, "scheme": "0011223344556677", "reports": [1]}',
        '{"version": 1, "scheme": "0011223344556677", "reports": 5}',
        '{"version": 1, "scheme": 5, "reports": []}',
        '{"version": true, "scheme": "0011223344556677", "reports": []}',
        '{"version": 1, "scheme": "0011223344556677", "reports": {"AA==": 1}}',
        '{"version": 1, "scheme": "0011223344556677", "reports": ""}',
        '{"version": 1, "scheme": "0011223344556677", "reports": [], "more": 1}',
        "[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_what_is_not_a_batch_in_json_is_refused(text) -> None:
    with pytest.raises(DataError):
        Reports.from_json(text)


def test_batches_and_servers_of_different_schemes_do_not_mix() -> None:
    one, two = (KaryRandomizedResponse(domain=5, epsilon=epsilon) for epsilon in (1, 2))
    with pytest.raises(DataError, match="load the scheme"):
        one.server().add(two.simulate([0]))
    with pytest.raises(DataError, match="different schemes"):
        one.server() + two.server()
    with pytest.raises(DataError, match="another scheme"):
        one.server(state=bytes(two.server()))
    with pytest.raises(DataError, match="one scheme"):
        Reports.together([one.simulate([0]), two.simulate([0])])
    with pytest.raises(DataError):
        Reports.together([])


def test_nothing_is_estimated_from_nothing() -> None:
    with pytest.raises(DataError, match="no report"):
        KaryRandomizedResponse(domain=5, epsilon=1).server().estimate()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"scheme": "nothing"}, "scheme"),
        ({"version": 2}, "version"),
        ({"extra": 1}, "extra"),
        ({"domain": 1}, "2 to"),
        ({"domain": 2.5}, "domain"),
        ({"domain": ["a", "a"]}, "once"),
        ({"domain": ["a", "\ud800"]}, "document"),
        ({"domain": [1, 2]}, "domain"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": "x"}, "epsilon"),
        ({"epsilon": 101}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"longitudinal": "never"}, "longitudinal"),
    ],
)
def test_documents_that_are_none_are_refused(change, match) -> None:
    document = json.loads(KaryRandomizedResponse(domain=5, epsilon=1).to_json())
    with pytest.raises(ParameterError, match=match):
        from_json(json.dumps({**document, **change}))
    with pytest.raises(DiscreetError):
        from_json("[1")


def test_the_json_schema_names_every_protocol() -> None:
    text = json.dumps(json_schema())
    assert all(make("1").protocol in text for make in ALL.values())


class Sorted(Warner):
    """A scheme as somebody may add one: with something computed, something that may be missing, and a hash."""

    protocol = "sorted"
    hash_names = ("linear-1", "linear-2")
    buckets: int
    domain: Domain | None

    def __init__(
        self,
        p: Number,
        bounds: Sequence[Number],
        *,
        buckets: int | None = None,
        domain: DomainLike | None = None,
        longitudinal: Longitudinal = "memoize",
    ) -> None: ...


def test_the_document_of_a_new_scheme_is_known_from_its_constructor() -> None:
    read = document_of(Sorted).model_validate
    whole = {"scheme": "sorted", "version": 1, "p": "1/3", "bounds": [0, 1.5], "buckets": 4, "domain": None}
    found = read({**whole, "hash": "linear-2"})
    assert found.arguments() == {**dict(list(whole.items())[2:]), "longitudinal": "memoize"}
    assert read({**whole, "hash": "linear-1", "domain": ["a"], "longitudinal": "once"}).domain == ["a"]
    wrong = {"version": 2, "p": True, "bounds": [1], "buckets": None, "domain": "a", "hash": "linear-3", "scheme": "s"}
    wrong_versions = [{"hash": "linear-1", "version": version} for version in (True, 1.0, "1")]
    for change in (
        {},
        {"more": 1},
        *wrong_versions,
        *({"hash": "linear-1", name: value} for name, value in wrong.items()),
    ):
        with pytest.raises(ValidationError):
            read({**whole, **change})


@EVERY
def test_a_client_refuses_values_before_it_draws(scheme, monkeypatch) -> None:
    monkeypatch.setattr("discreet.local._client.fresh_draws", None)
    for value in (-1, scheme.domain.size, 0.0, "a", None, [[0]], [0, scheme.domain.size], np.nan):
        with pytest.raises(ParameterError):
            scheme.client().encode(value)


@pytest.mark.parametrize("name", ALL)
def test_a_secret_remembers_and_is_asked_for(name) -> None:
    plain = ALL[name]("0.5")
    document = json.loads(plain.to_json())
    scheme = from_json(json.dumps({**document, "longitudinal": "memoize"}))
    size = scheme.domain.size
    first, second = (scheme.client(secret=bytes([number]) * 16) for number in (1, 2))
    kept = {value: bytes(first.encode(value)) for value in range(size)}
    again = scheme.client(secret=bytes([1]) * 16)  # as after a restart
    assert all(bytes(again.encode(value)) == kept[value] for value in range(size))
    many = again.encode([value for value in range(size) for _ in range(50)])
    assert len({row.tobytes() for row in many.rows}) <= size
    assert Reports.together(first.encode(value) for value in range(size) for _ in range(50)) == many
    others = [scheme.client(secret=bytes([number]) * 16).encode(0).rows.tobytes() for number in range(2, 90)]
    assert len(set(others)) > 1
    assert second.encode(0) == second.encode(0)
    with pytest.raises(ParameterError, match="secret"):
        scheme.client()
    with pytest.raises(ParameterError, match="secret"):
        scheme.client(secret=b"short")
    with pytest.raises(ParameterError, match="longitudinal"):
        plain.client(secret=bytes(16))
    assert scheme.lifetime_loss(reports=1000, values=3) == 3 * scheme.loss
    assert plain.lifetime_loss(reports=1000, values=3) == 1000 * plain.loss


def test_reports_that_are_remembered_do_not_identify_their_value() -> None:
    """A thousand remembered reports of a client say no more than one, and a thousand fresh ones say everything."""
    kept = KaryRandomizedResponse(domain=4, epsilon=1, longitudinal="memoize")
    fresh = KaryRandomizedResponse(domain=4, epsilon=1)
    right = {"kept": 0, "fresh": 0}
    people = 400
    for person in range(people):
        secret = person.to_bytes(16, "little")
        for name, client in (("kept", kept.client(secret)), ("fresh", fresh.client())):
            reports = client.encode([person % 4] * 1000).rows[:, 0]
            right[name] += int(np.bincount(reports, minlength=4).argmax()) == person % 4
    assert right["fresh"] == people
    # Binomial with p = e / (e + 3) = 0.475: above 260 with probability below 1e-10.
    assert right["kept"] <= 260


@pytest.mark.parametrize(("reports", "values"), [(0, 0), (1, 0), (1, 2), (True, 1), (1.0, 1)])
def test_impossible_histories_are_refused(reports, values) -> None:
    with pytest.raises(ParameterError):
        KaryRandomizedResponse(domain=4, epsilon=1).lifetime_loss(reports=reports, values=values)


def test_consistent_frequencies() -> None:
    scheme = KaryRandomizedResponse(domain=30, epsilon="0.1")
    found = scheme.server().add(scheme.simulate([0, 1, 2] * 300)).estimate()
    nearest = found.consistent("norm_sub")
    assert np.array_equal(nearest, found.consistent("simplex"))
    assert nearest.min() >= 0
    assert nearest.sum() == pytest.approx(1)
    for other in (np.full(30, 1 / 30), np.eye(30)[0], found.consistent("norm_mul")):
        assert ((nearest - found.frequencies) ** 2).sum() <= ((other - found.frequencies) ** 2).sum() + 1e-12
    assert found.consistent("norm").sum() == pytest.approx(1)
    assert found.consistent("norm_mul").sum() == pytest.approx(1)
    assert found.consistent("non_negative").min() == 0
    with pytest.raises(ParameterError, match="method"):
        found.consistent("clip")


@UNBIASED
def test_intervals_hold_the_truth_and_tables_say_so(scheme) -> None:
    """Of 300 intervals at 0.999 more than 12 miss with probability below 1e-12."""
    missed = 0
    values = values_for(scheme, 4 * scheme.domain.size) + [0] * 500
    shares = np.bincount(values, minlength=scheme.domain.size) / len(values)
    for _ in range(-(-300 // scheme.domain.size)):
        found = scheme.server().add(scheme.simulate(values)).estimate()
        low, high = found.interval("0.999")
        missed += int(((shares < low) | (shares > high)).sum())
        assert ((low >= 0) & (low <= high) & (high <= 1)).all()
    assert missed <= 12
    table = found.to_arrow()
    assert table.column_names == ["value", "frequency", "stderr", "low", "high"]
    assert found.counts == pytest.approx(found.frequencies * len(values))
    for level in (0, 1, "x", 2):
        with pytest.raises(ParameterError, match="level"):
            found.interval(level)


def test_domains_of_names() -> None:
    scheme = KaryRandomizedResponse(domain=["a", "ü", "日本"], epsilon=90)
    found = scheme.server().add(scheme.client().encode(["日本", "a", "a"])).estimate()
    assert found.counts.round(6).tolist() == [2, 0, 1]
    assert found.domain.value(2) == "日本"
    assert scheme.server().add(scheme.client().encode("ü")).estimate().frequencies.round(6).tolist() == [0, 1, 0]
    for values in ("b", ["a", "b"], [1], [None], 5, None, [["a"]]):
        with pytest.raises(ParameterError):
            scheme.client().encode(values)
    with pytest.raises(ParameterError, match="UTF-8"):
        KaryRandomizedResponse(domain=["a", "\ud800"], epsilon=1)
    with pytest.raises(ParameterError, match="candidates"):
        scheme.server().add(scheme.client().encode("a")).estimate(candidates=["a"])


def test_reports_compose_like_any_loss() -> None:
    """Sequential: one person's answers to two questions add. Parallel: of two groups of people each answers one."""
    import discreet as dp

    one, two = (KaryRandomizedResponse(domain=4, epsilon=epsilon) for epsilon in ("0.5", 1))
    assert (one.loss + two.loss).epsilon() == 1.5
    assert one.loss.parallel(two.loss).epsilon() == 1
    assert one.loss.fits(dp.pure("0.5"))
    central = two.shuffled(100_000).epsilon(delta=1e-9)
    assert central < 0.1
    for n, epsilon in itertools.product((1, 10, 10**9), (one, two)):
        assert epsilon.shuffled(n).epsilon(delta=1e-9) <= epsilon.loss.epsilon()


MISSING = {
    "masked": lambda: np.ma.array([1, 0], mask=[False, True]),
    "masked floats": lambda: np.ma.array([1.0, 0.0], mask=[False, True]),
    "ragged": lambda: [1, [0, 1]],
    "dates": lambda: np.array(["2020-01-01"], dtype="M8[D]"),
    "complex": lambda: np.array([1j]),
    "texts": lambda: ["ten"],
}


@pytest.mark.parametrize("scheme", [KaryRandomizedResponse(domain=2, epsilon=1), Piecewise((0, 1), 1)], ids=["k", "x"])
@pytest.mark.parametrize("values", MISSING.values(), ids=list(MISSING))
def test_what_is_missing_or_no_number_is_refused(scheme, values) -> None:
    with pytest.raises(ParameterError, match="values must be"):
        scheme.client().encode(values())


@pytest.mark.parametrize("scheme", [KaryRandomizedResponse(domain=2, epsilon=1), Piecewise((0, 1), 1)], ids=["k", "x"])
def test_a_mask_that_hides_nothing_is_none(scheme) -> None:
    assert scheme.prepare(np.ma.array([1, 0])).tolist() == [1, 0]


def test_a_long_domain_with_a_name_twice_is_refused_at_once() -> None:
    names = [*map(str, range(100_000)), "99999"]
    with pytest.raises(ParameterError, match="'99999' is there again"):
        from_json(json.dumps({"scheme": "kary_randomized_response", "version": 1, "domain": names, "epsilon": 1}))


ROWS = {
    "wide numbers": np.array([[300]]),
    "negative": np.array([[-1]]),
    "floats": np.array([[1.5]]),
    "one dimension": np.array([1], dtype=np.uint8),
    "three dimensions": np.zeros((1, 1, 1), dtype=np.uint8),
    "a list": [[1]],
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=list(ROWS))
def test_reports_by_hand_are_rows_of_bytes(rows) -> None:
    with pytest.raises(DataError, match="uint8"):
        Reports(bytes(8), rows)


@pytest.mark.parametrize("fingerprint", [b"", bytes(9), "a" * 8])
def test_reports_by_hand_name_a_scheme(fingerprint) -> None:
    with pytest.raises(DataError, match="fingerprint"):
        Reports(fingerprint, np.zeros((1, 1), dtype=np.uint8))


def test_a_buffer_that_changes_later_changes_no_report() -> None:
    sent = KaryRandomizedResponse(domain=5, epsilon=1).simulate([1, 2, 3])
    buffer = bytearray(bytes(sent))
    read = Reports.from_bytes(buffer)
    buffer[15:18] = b"\xff\xff\xff"
    assert read == sent == Reports.from_bytes(memoryview(bytes(sent)))


@pytest.mark.parametrize("data", [None, "dr\x01", 7, ["d"]])
def test_what_is_no_bytes_is_no_batch(data) -> None:
    scheme = KaryRandomizedResponse(domain=5, epsilon=1)
    with pytest.raises(DataError, match="not a batch"):
        Reports.from_bytes(data)
    with pytest.raises(DataError, match="from_bytes"):
        scheme.server().add(data)
    with pytest.raises(DataError, match="state"):
        scheme.server().merge(data)


def test_counts_that_would_overflow_are_refused() -> None:
    scheme = KaryRandomizedResponse(domain=2, epsilon=1)

    def state(*vector: int) -> bytes:
        body = b"ds\x01" + scheme.fingerprint + np.array(vector, dtype="<i8").tobytes()
        return body + zlib.crc32(body).to_bytes(4, "little")

    for vector in ((2**63 - 1, 0, 0, 0), (0, 2**63 - 1, 0, 0)):
        with pytest.raises(DataError, match="no reports add up to"):
            scheme.server(state(*vector))
    full = scheme.server(state(2**61, 0, 2**61, 0))
    with pytest.raises(DataError, match="more reports than there can be"):
        full.merge(full)
    assert full.reports == 2**61
    assert full.add(scheme.simulate([1])).reports == 2**61 + 1


@pytest.mark.parametrize("side", [-1, 1])
def test_a_survey_of_next_to_pure_chance_is_refused(side) -> None:
    with pytest.raises(ParameterError, match="pure chance"):
        Warner(Fraction(1, 2) + side * Fraction(1, 10**200))
    scheme = Warner(Fraction(1, 2) + side * Fraction(1, 10**11))
    assert scheme.server().add(scheme.simulate([1, 0, 1])).estimate().variance < np.inf
    with pytest.raises(ParameterError, match="pure chance"):
        Warner.from_epsilon("1e-13")


def test_a_level_that_is_one_in_floating_point_is_refused() -> None:
    scheme = HadamardResponse(domain=5, epsilon=100)
    found = scheme.server().add(scheme.simulate([1])).estimate()
    for level in ("0.99999999999999999999", "1e-400"):
        with pytest.raises(ParameterError, match="level"):
            found.interval(level)


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    three = np.int64(3)
    wave = SquareWave((0, 1), 1, bins=three)
    rappor = Rappor.from_epsilon(2, bits=three * 2, hashes=three, cohorts=three)
    for scheme in (wave, rappor):
        assert from_json(scheme.to_json()) == scheme


def test_intervals_hold_a_value_that_hardly_anybody_has() -> None:
    """Of 600 intervals at 0.95 more than 75 miss with probability below 1e-12."""
    scheme, share, people, times = HadamardResponse(domain=1000, epsilon=8), 0.001, 1000, 600
    rng, missed = np.random.default_rng(20), 0
    for _ in range(times):
        values = np.where(rng.random(people) < share, 7, rng.integers(8, 1000, people))
        low, high = scheme.server().add(scheme.simulate(values)).estimate().interval()
        missed += int(not low[7] <= share <= high[7])
    assert missed <= 75
    found = scheme.server().add(scheme.simulate([8] * people)).estimate()
    empty = replace(found, frequencies=np.zeros(1000)).interval()
    assert empty[1][7] > 0.003
