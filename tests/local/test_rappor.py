"""RAPPOR: what is remembered and what is not, what is refused, and the bugs of others."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest
from local_laws import assert_mean_square
from scipy import stats

from discreet.errors import DataError, ParameterError
from discreet.local import BasicRappor, Rappor, Reports, from_json
from discreet.local.rappor._decode import bloom_columns, bloom_rows
from discreet.noise import fresh_draws

PAPER = {"p": "0.39", "q": "0.61", "f": "0.45"}
SECRET = bytes(range(16))


def bits_of(reports: Reports, size: int, skip: int = 0) -> np.ndarray:
    return np.unpackbits(reports.rows[:, skip:], axis=1, count=size, bitorder="little")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"p": "-0.1"}, "p and q"),
        ({"q": "1.1"}, "p and q"),
        ({"p": "x"}, "p must be"),
        ({"q": None}, "q must be"),
        ({"p": "0.61"}, "differ"),
        ({"p": 0, "q": 0}, "differ"),
        ({"f": 0}, "f must be"),
        ({"f": 1}, "f must be"),
        ({"f": "-0.5"}, "f must be"),
        ({"f": "1.5"}, "f must be"),
        ({"f": "1e-30"}, "f must be"),
        ({"longitudinal": "once"}, "memoize"),
        ({"longitudinal": "never"}, "longitudinal"),
        ({"bits": 1}, "bits"),
        ({"bits": 8.0}, "bits"),
        ({"bits": True}, "bits"),
        ({"bits": 5000}, "bits"),
        ({"hashes": 0}, "hashes"),
        ({"hashes": 5}, "half"),
        ({"cohorts": 0}, "cohorts"),
        ({"cohorts": 2**20}, "cohorts"),
    ],
)
def test_parameters_that_are_none_are_refused(change, match) -> None:
    sizes = {"bits": 8, "hashes": 2, "cohorts": 4}
    with pytest.raises(ParameterError, match=match):
        Rappor(**{**PAPER, **sizes, **change})
    if not change.keys() & sizes.keys():
        with pytest.raises(ParameterError, match=match):
            BasicRappor(5, **{**PAPER, **change})


@pytest.mark.parametrize(("epsilon", "one"), [(1, 1), (1, 2), (0, None), (101, None), (1, 0), ("x", None)])
def test_goals_that_are_none_are_refused(epsilon, one) -> None:
    with pytest.raises(ParameterError):
        BasicRappor.from_epsilon(5, epsilon, one)
    with pytest.raises(ParameterError):
        Rappor.from_epsilon(epsilon, one, bits=8, hashes=2, cohorts=4)
    with pytest.raises(ParameterError, match="hashes"):
        Rappor.from_epsilon(2, bits=8, hashes=0, cohorts=4)


@pytest.mark.parametrize("values", [1, None, ["a", 1], [b"a"], b"a", [["a"]], np.array([1, 2])])
def test_values_that_are_no_texts_are_refused(values, monkeypatch) -> None:
    monkeypatch.setattr("discreet.local._client.fresh_draws", None)
    scheme = Rappor.from_epsilon(2, bits=8, hashes=2, cohorts=4, longitudinal="once")
    with pytest.raises(ParameterError, match="text"):
        scheme.client().encode(values)


def test_documents() -> None:
    scheme = Rappor(**PAPER, bits=8, hashes=2, cohorts=128)
    document = json.loads(scheme.to_json())
    assert document == {
        "scheme": "rappor",
        "version": 1,
        "p": "39/100",
        "q": "61/100",
        "f": "9/20",
        "bits": 8,
        "hashes": 2,
        "cohorts": 128,
        "hash": "blake2b-1",
        "longitudinal": "memoize",
    }
    assert from_json(scheme.to_json()) == scheme
    basic = BasicRappor(["a", "b"], **PAPER)
    assert from_json(basic.to_json()) == basic
    del document["longitudinal"]
    assert from_json(json.dumps(document)) == scheme
    for change in ({"hash": "md5"}, {"hash": None}, {"hashes": 5}, {"longitudinal": "once"}, {"f": 0}, {"more": 1}):
        with pytest.raises(ParameterError):
            from_json(json.dumps({**document, **change}))
    del document["hash"]
    with pytest.raises(ParameterError, match="hash"):
        from_json(json.dumps(document))


def test_what_was_remembered_stays() -> None:
    """Permanent responses of this version: a client that drew others after an update would reveal more."""
    rappor = Rappor("0", "1", "0.25", bits=24, hashes=2, cohorts=300)
    rows = rappor.client(secret=SECRET).encode(["a", "ü", ""]).rows
    assert [row.tobytes().hex() for row in rows] == ["85000c4b10", "8500200542", "8500009202"]
    basic = BasicRappor(20, "0", "1", "0.25")
    rows = basic.client(secret=SECRET).encode([0, 19]).rows
    assert [row.tobytes().hex() for row in rows] == ["090108", "408008"]


@pytest.mark.parametrize(
    "scheme",
    [BasicRappor(["a", "b", "c"], **PAPER), Rappor(**PAPER, bits=12, hashes=2, cohorts=50)],
    ids=["basic", "full"],
)
def test_the_permanent_response_survives_a_restart_and_reports_are_fresh(scheme) -> None:
    """Of 4000 reports the mean of a bit is 0.39 or 0.61, as what is kept is; 0.5 is 14 standard errors from both."""
    size = scheme.layout.bits
    skip = scheme.layout.width - -(-size // 8)

    def kept(client, value):
        reports = client.encode([value] * 4000)
        assert len({row.tobytes() for row in reports.rows[:, :skip]}) <= 1
        bits = bits_of(reports, size, skip)
        assert len({row.tobytes() for row in bits}) > 1
        return reports.rows[0, :skip].tolist(), (bits.mean(axis=0) > 0.5).tolist()

    first, again, other = (scheme.client(secret=bytes([n]) * 16) for n in (1, 1, 2))
    before = {value: kept(first, value) for value in "abc"}
    assert {value: kept(again, value) for value in "cab"} == before
    assert {value: kept(other, value) for value in "abc"} != before
    mixed = first.encode(["a", "b"] * 4000)
    for place, value in enumerate("ab"):
        bits = bits_of(mixed, size, skip)[place::2]
        assert (bits.mean(axis=0) > 0.5).tolist() == before[value][1]


def test_many_reports_tell_no_more_than_the_permanent_response() -> None:
    """Clients that forget theirs, as those of other libraries do, are found out by 3000 reports, every one of them.

    Those who remember are guessed right as often as from the permanent response, and no more than ε∞ allows.
    """
    scheme = BasicRappor(4, **PAPER)
    people, reports = 300, 3000
    right = {"kept": 0, "fresh": 0}
    for person in range(people):
        value = person % 4
        client = scheme.client(secret=person.to_bytes(16, "little"))
        for name, batch in (
            ("kept", client.encode([value] * reports)),
            ("fresh", scheme.simulate([value] * reports)),
        ):
            right[name] += int(bits_of(batch, 4).sum(axis=0).argmax()) == value
    assert right["fresh"] == people  # each by 9 standard errors
    flip = float(scheme.f) / 2
    tie = sum(stats.binom.pmf(j, 3, flip) / (1 + j) for j in range(4))
    chance = (1 - flip) * tie + flip * (1 - flip) ** 3 / 4  # the best guess from the permanent response
    epsilon = scheme.permanent_loss.epsilon()
    assert chance <= np.exp(epsilon) / (np.exp(epsilon) + 3)
    assert stats.binom.ppf(1e-10, people, chance) <= right["kept"] <= stats.binom.ppf(1 - 1e-10, people, chance)


def test_one_client_has_one_cohort_and_clients_have_all() -> None:
    """Cohorts of clients are even: chi-square, false alarm 1e-10, for real clients and simulated ones."""
    scheme = Rappor(**PAPER, bits=8, hashes=2, cohorts=16)
    assert len({*scheme.client(secret=SECRET).encode(list("abcdef") * 50).rows[:, 0].tolist()}) == 1
    own = [scheme.client(secret=n.to_bytes(16, "little")).encode("a").rows[0, 0] for n in range(500)]
    for cohorts in (own, scheme.simulate(["a"] * 4000).rows[:, 0]):
        held = np.bincount(cohorts, minlength=16)
        assert stats.chisquare(held).pvalue > 1e-10
    assert len(scheme.client(secret=SECRET).encode([])) == 0


def test_simulated_reports_have_the_law_of_clients() -> None:
    """Each bit of first reports, in both ways of making them; false alarm 1e-10 each by the exact binomial."""
    scheme = Rappor(p="0.2", q="0.9", f="0.3", bits=6, hashes=2, cohorts=1)
    truth = bloom_columns(["x"], [0], 6, 2).toarray()[:, 0]
    chances = np.where(truth > 0, float(scheme._stages.one), float(scheme._stages.zero))
    own = Reports.together(scheme.client(secret=n.to_bytes(16, "big")).encode("x") for n in range(500))
    for reports in (own, scheme.simulate(["x"] * 20_000)):
        ones = bits_of(reports, 6, 1).sum(axis=0)
        assert (stats.binom.ppf(1e-10, len(reports), chances) <= ones).all()
        assert (stats.binom.ppf(1 - 1e-10, len(reports), chances) >= ones).all()
    assert scheme._stages.one == Fraction("0.3") / 2 * Fraction("1.1") + Fraction("0.7") * Fraction("0.9")


@pytest.mark.parametrize(("bits", "hashes", "cohorts"), [(8, 2, 5), (3, 1, 1), (130, 16, 4)])
def test_filters_are_the_same_on_both_sides(bits, hashes, cohorts) -> None:
    texts = ["", "a", "a\0", "ü", "日本", "\ud800", *map(str, range(50))]
    columns = bloom_columns(texts, range(cohorts), bits, hashes).toarray().reshape(cohorts, bits, len(texts))
    assert (columns <= 1).all()
    for (place, text), cohort in itertools.product(enumerate(texts), range(cohorts)):
        row = bloom_rows(np.array([text], dtype=object), np.array([cohort]), bits, hashes)
        found = np.unpackbits(row[0], count=bits, bitorder="little")
        assert np.array_equal(found, columns[cohort, :, place])
    some = np.array(texts * 3, dtype=object)
    where = np.arange(some.size) % cohorts
    rows = np.unpackbits(bloom_rows(some, where, bits, hashes), axis=1, count=bits, bitorder="little")
    assert np.array_equal(rows.T, columns[where, :, np.arange(some.size) % len(texts)].T)


def test_hostile_reports_are_dropped_and_counted() -> None:
    scheme = Rappor(**PAPER, bits=12, hashes=2, cohorts=5)
    rows = np.array([[5, 0, 0], [255, 0, 0], [0, 0, 0b10000], [4, 255, 15], [0, 0, 0]], dtype=np.uint8)
    server = scheme.server().add(Reports(scheme.fingerprint, rows))
    assert (server.reports, server.rejected) == (2, 3)
    table = server.counts.reshape(5, 13)
    assert table[:, 0].tolist() == [1, 0, 0, 0, 1]
    assert table[4, 1:].tolist() == [1] * 12
    assert table[:4, 1:].sum() == 0


def test_both_sides_agree_or_do_not_speak() -> None:
    """Every parameter is in the fingerprint, so none can differ between a client and its server."""
    sizes = {"bits": 8, "hashes": 2, "cohorts": 4}
    scheme = Rappor(**PAPER, **sizes)
    server = scheme.server()
    for change in ({"bits": 16}, {"hashes": 1}, {"cohorts": 8}, {"p": "0.4"}, {"q": "0.6"}, {"f": "0.5"}):
        with pytest.raises(DataError, match="load the scheme"):
            server.add(Rappor(**{**PAPER, **sizes, **change}).simulate(["a"]))


def test_servers_add_up_and_begin_empty() -> None:
    """Cohorts' counts are in the state with the bits', so a new server has neither."""
    scheme = Rappor(**PAPER, bits=8, hashes=2, cohorts=4)
    batches = [scheme.simulate(["a"] * n) for n in (1, 50, 2000)]
    one = scheme.server().add(Reports.together(batches))
    merged = scheme.server()
    for batch in reversed(batches):
        merged = merged + scheme.server().add(batch)
    assert one == merged == scheme.server(state=bytes(one))
    assert np.array_equal(one.estimate(["a", "b"]).frequencies, merged.estimate(["a", "b"]).frequencies)
    table = one.counts.reshape(4, 9)
    assert table[:, 0].sum() == 2051 == one.reports
    assert (table[:, 1:] <= table[:, :1]).all()
    assert not scheme.server().counts.any()
    assert scheme.client(secret=SECRET).encode([]).rows.shape == (0, 2)


def test_basic_rappor_counts_what_supports_a_value_whichever_is_larger() -> None:
    """P > q tells by zeros: the same estimates, with intervals the right way round."""
    people = [0] * 3000 + [1] * 1000
    for p, q in (("0.1", "0.8"), ("0.8", "0.1")):
        scheme = BasicRappor(3, p, q, "0.2")
        support, other = scheme.support_probabilities
        assert support > other
        server = scheme.server().add(scheme.simulate(people))
        found = server.estimate()
        low, high = found.interval("0.9999999999")
        assert ((low <= [0.75, 0.25, 0]) & (high >= [0.75, 0.25, 0])).all()
        ones = server.counts if q > p else 4000 - server.counts
        one, zero = float(scheme._stages.one), float(scheme._stages.zero)
        assert found.frequencies == pytest.approx((ones / 4000 - zero) / (one - zero))  # Erlingsson et al., Section 4


@pytest.mark.parametrize("stages", [("0.39", "0.61", "0.45"), ("0.9", "0.2", "0.1")])
def test_mean_squared_errors_of_basic_rappor_are_those_of_theory(stages) -> None:
    """Of 24,000 estimates; false alarm 1e-9."""
    weights = 1 / np.arange(1, 301)
    values = np.repeat(np.arange(300), np.floor(3000 * weights / weights.sum()).astype(int))
    assert_mean_square(BasicRappor(300, *stages), values, rounds=80)


def test_the_generator_is_asked_once_for_each_stage(monkeypatch) -> None:
    """A report of a remembered response draws afresh, and never what was remembered."""
    asked = []

    def counted():
        asked.append(1)
        return fresh_draws()

    monkeypatch.setattr("discreet.local.rappor._rappor.fresh_draws", counted)
    scheme = Rappor(**PAPER, bits=8, hashes=2, cohorts=4)
    one, two = (scheme.client(secret=SECRET).encode(["a"] * 64) for _ in range(2))
    assert len(asked) == 2
    assert one != two
