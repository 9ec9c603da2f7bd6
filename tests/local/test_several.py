"""Attribute sampling: its exact ε, what it remembers, and what it makes of records, reports and documents."""

from __future__ import annotations

import json
import math
import zlib
from fractions import Fraction

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from local_laws import assert_exact, law, odds_of
from scipy import stats

from discreet import local
from discreet.errors import DataError, ParameterError
from discreet.local import KaryRandomizedResponse, Reports, SampledAttributes, _schema, from_json
from discreet.local.multidimensional._sampling import Sampling
from discreet.privacy import pure, rho

SECRET = bytes(range(32))


def small(epsilon: str, longitudinal="once") -> SampledAttributes:
    """Parts of several widths: bits, whole numbers, a number between bounds, and attributes of its own."""
    inner = SampledAttributes(
        {"a": KaryRandomizedResponse(2, epsilon, longitudinal=longitudinal)}, longitudinal=longitudinal
    )
    parts = {
        "os": local.KaryRandomizedResponse(["linux", "mac", "other"], epsilon, longitudinal=longitudinal),
        "on": local.OptimizedUnary(4, epsilon, longitudinal=longitudinal),
        "hours": local.Duchi((0, 24), epsilon, longitudinal=longitudinal),
        "more": inner,
    }
    weights = {"os": 1, "on": "1/2", "hours": "1.5", "more": 1}
    return SampledAttributes(parts, weights=weights, longitudinal=longitudinal)


def record(os: str = "linux", on: int = 0, hours: float = 3.5, more: int = 0) -> dict[str, object]:
    return {"os": os, "on": on, "hours": hours, "more": {"a": more}}


RECORDS = [record(), record("mac", 1, 24, 1), record("other", 0, 0, 0), record("linux", 3, 24, 1)]


@pytest.mark.parametrize("epsilon", ["1e-6", "0.5", "1", "2", "5", "20"])
def test_the_exact_epsilon_is_the_claim(epsilon) -> None:
    scheme = small(epsilon)
    odds = odds_of(scheme, RECORDS)
    assert_exact(odds, Fraction(epsilon))
    assert scheme.loss == pure(epsilon)


def test_the_loss_is_that_of_the_worst_attribute() -> None:
    parts = {
        "a": KaryRandomizedResponse(2, "0.5"),
        "b": KaryRandomizedResponse(2, 2),
        "c": KaryRandomizedResponse(3, 1),
    }
    scheme = SampledAttributes(parts)
    records = [{"a": 0, "b": 0, "c": 0}, {"a": 1, "b": 0, "c": 0}, {"a": 1, "b": 1, "c": 2}]
    assert_exact(odds_of(scheme, records), Fraction(2))
    assert scheme.loss == pure(2)
    assert scheme.lifetime_loss(reports=10, values=3).epsilon() == 20
    assert scheme.shuffled(10_000).epsilon(delta=1e-6) < 2


@pytest.mark.parametrize("epsilon", ["0.5", "4"])
def test_an_attribute_is_drawn_by_its_weight_whatever_the_record(epsilon) -> None:
    for held in RECORDS:
        shares = [Fraction(0)] * 4
        for report, weight in law(small(epsilon), held).items():
            shares[report[0]] += weight
        assert shares == [Fraction(1, 4), Fraction(1, 8), Fraction(3, 8), Fraction(1, 4)]


def test_given_its_attribute_a_report_is_that_of_the_part() -> None:
    scheme = small("1")
    for held in RECORDS:
        found = law(scheme, held)
        for number, (name, part) in enumerate(zip(scheme.names, scheme.schemes, strict=True)):
            width, total = part.layout.width, sum(scheme.weights)
            alone = {
                report[1 : 1 + width]: weight * total / scheme.weights[number]
                for report, weight in found.items()
                if report[0] == number
            }
            assert alone == law(part, held[name])


@pytest.mark.parametrize("longitudinal", ["once", "memoize"])
def test_each_part_estimates_what_its_own_server_would(longitudinal) -> None:
    scheme = small("2", longitudinal)
    reports = scheme.simulate(RECORDS * 500)
    server = scheme.server().add(reports)
    assert (server.reports, server.rejected) == (2000, 0)
    found = server.estimate()
    assert list(found) == ["os", "on", "hours", "more"]
    assert (len(found), found.reports) == (4, 2000)
    for number, (name, part) in enumerate(zip(scheme.names, scheme.schemes, strict=True)):
        rows = reports.rows[reports.rows[:, 0] == number][:, 1 : 1 + part.layout.width]
        alone = part.server().add(Reports(part.fingerprint, np.ascontiguousarray(rows)))
        assert found.servers[name] == alone
    assert found["os"].reports + found["on"].reports + found["hours"].reports + found["more"].reports == 2000
    low, high = found["hours"].interval("0.999999999")
    assert low < np.mean([held["hours"] for held in RECORDS]) < high
    assert found["more"]["a"].frequencies.shape == (2,)


def test_servers_add_up_and_their_states_are_read() -> None:
    scheme = small("1")
    one, two = (scheme.server().add(scheme.simulate(RECORDS * n)) for n in (3, 50))
    both = scheme.server(bytes(one)) + two
    assert both.reports == 212
    assert sum(each.reports for each in both.estimate().servers.values()) == 212


def test_what_is_not_there_yet_is_said() -> None:
    scheme = SampledAttributes({"a": KaryRandomizedResponse(2, 1), "b": KaryRandomizedResponse(2, 1)})
    found = scheme.server().add(Reports(scheme.fingerprint, np.array([[0, 1]], dtype=np.uint8))).estimate()
    assert found["a"].reports == 1
    with pytest.raises(DataError, match="nobody has reported 'b'"):
        found["b"]
    with pytest.raises(ParameterError, match="there are 'a', 'b'"):
        found["c"]
    with pytest.raises(DataError, match="no report"):
        scheme.server().estimate()


def test_texts_without_a_domain_are_asked_for_by_their_own_server() -> None:
    words = local.CountMeanSketch(4, hashes=8, width=64)
    scheme = SampledAttributes({"word": words, "n": KaryRandomizedResponse(2, 4)})
    server = scheme.server().add(scheme.simulate({"word": ["ant"] * 4000, "n": [0, 1] * 2000}))
    with pytest.raises(ParameterError, match="servers"):
        server.estimate(["ant"])
    assert server.estimate().servers["word"].estimate(["ant"]).frequencies[0] > 0.8


# What comes in.


def forged(scheme: SampledAttributes, *rows: list[int]) -> tuple[int, int]:
    server = scheme.server().add(Reports(scheme.fingerprint, np.array(rows, dtype=np.uint8)))
    return server.reports, server.rejected


def test_what_no_client_sends_is_rejected() -> None:
    scheme = SampledAttributes(
        {"a": KaryRandomizedResponse(3, 1), "b": local.OptimizedUnary(12, 1), "c": local.SubsetSelection(12, 1)}
    )
    assert scheme.layout.width == 3
    assert forged(scheme, [0, 2, 0], [1, 255, 15]) == (2, 0)
    assert forged(scheme, [3, 0, 0], [255, 0, 0]) == (0, 2)  # no such attribute
    assert forged(scheme, [0, 3, 0]) == (0, 1)  # no such value
    assert forged(scheme, [0, 2, 1], [0, 0, 128]) == (0, 2)  # something after it
    assert forged(scheme, [1, 255, 16]) == (0, 1)  # a thirteenth bit
    assert forged(scheme, [2, 255, 15], [2, 0, 0]) == (0, 2)  # all or none of the subset


def test_noise_is_counted_or_rejected_row_by_row() -> None:
    scheme = small("1")
    noise = np.random.default_rng(3).integers(0, 256, (5000, scheme.layout.width)).astype(np.uint8)
    noise[:, 0] %= 5
    server = scheme.server().add(Reports(scheme.fingerprint, noise))
    assert server.reports + server.rejected == 5000
    assert 0 < server.reports < 500
    assert (server.counts >= 0).all()
    assert scheme.server(bytes(server)) == server


def test_a_state_whose_counts_are_impossible_is_refused() -> None:
    scheme = small("1")
    body = bytes(scheme.server().add(scheme.simulate(RECORDS)))[:-4]
    vector = np.frombuffer(body[11:], dtype="<i8").copy()
    vector[2] = 5
    body = body[:11] + vector.tobytes()
    with pytest.raises(DataError, match="add up"):
        scheme.server(body + zlib.crc32(body).to_bytes(4, "little"))


def test_parts_have_as_many_reports_as_the_whole() -> None:
    part = KaryRandomizedResponse(3, 1)
    for scheme in (SampledAttributes({"a": part, "b": part}), local.Marginals({"a": 2, "b": 2}, 1, ways=1)):
        counts = np.zeros(scheme.cells, dtype=np.int64)
        half = scheme.cells // 2
        counts[[0, 1, half, half + 1]] = 2
        assert scheme.read(counts, 4, None).reports == 4
        for reports in (3, 5):
            with pytest.raises(DataError, match="add up"):
                scheme.read(counts, reports, None)


# What goes in.


def test_records_come_in_several_shapes() -> None:
    import pandas as pd

    scheme = SampledAttributes(
        {
            "os": KaryRandomizedResponse(["linux", "mac"], 1),
            "n": KaryRandomizedResponse(9, 1),
            "x": local.Duchi((0, 9), 1),
        }
    )
    rows = [{"os": "mac", "n": 3, "x": 1.5}, {"os": "linux", "n": 8, "x": 9}]
    columns = {"os": ["mac", "linux"], "n": [3, 8], "x": [1.5, 9]}
    wanted = scheme.prepare(rows).tolist()
    assert wanted == [(1, 3, 1.5 / 9), (0, 8, 1.0)]
    frames = pa.table(columns), pa.record_batch(columns), pd.DataFrame(columns), pl.DataFrame(columns)
    for values in (columns, *frames, tuple(rows), np.array(rows, dtype=object)):
        assert scheme.prepare(values).tolist() == wanted
    assert scheme.prepare(rows[0]).tolist() == wanted[:1]
    assert scheme.prepare(dict(reversed(rows[0].items()))).tolist() == wanted[:1]
    assert len(scheme.client().encode([])) == 0


def test_a_column_of_vectors_comes_in_a_frame() -> None:
    import pandas as pd

    scheme = SampledAttributes({"v": local.PrivUnit(3, 1), "os": KaryRandomizedResponse(["linux", "mac"], 1)})
    columns = {"v": [[0.5, 0.0, -0.25], [0.0, 1.0, 0.0]], "os": ["mac", "linux"]}
    wanted = scheme.prepare(columns).tolist()
    for values in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        assert scheme.prepare(values).tolist() == wanted


WRONG = {
    "text": "linux",
    "nothing": None,
    "number": 3,
    "list of lists": [["linux", 1]],
    "missing": {"os": "linux"},
    "more": {"os": "linux", "n": 1, "secret-42": 1},
    "missing in one": [{"os": "linux", "n": 1}, {"os": "linux"}],
    "not in the domain": {"os": "secret-42", "n": 1},
    "none": {"os": None, "n": 1},
    "lengths": {"os": ["linux", "mac"], "n": [1]},
    "frame": pa.table({"os": ["linux"]}),
    "lazy frame": pl.LazyFrame({"os": ["linux"], "n": [1]}),
    "null": pa.table({"os": ["linux", None], "n": [1, 2]}),
    "null number": pa.table({"os": ["linux", "mac"], "n": [1, None]}),
}


@pytest.mark.parametrize("values", WRONG.values(), ids=list(WRONG))
def test_what_is_no_record_is_refused_before_anything_is_drawn(values, monkeypatch) -> None:
    scheme = SampledAttributes({"os": KaryRandomizedResponse(["linux", "mac"], 1), "n": KaryRandomizedResponse(3, 1)})
    monkeypatch.setattr("discreet.local._client.fresh_draws", None)
    with pytest.raises(ParameterError) as refusal:
        scheme.client().encode(values)
    assert "secret-42" not in str(refusal.value)


ONE = KaryRandomizedResponse(2, 1)
BAD = {
    "none": ({}, {}),
    "no mapping": ([ONE], {}),
    "no scheme": ({"a": 5}, {}),
    "a two-server scheme": ({"a": object()}, {}),
    "empty name": ({"": ONE}, {}),
    "number as a name": ({1: ONE}, {}),
    "a name that UTF-8 cannot write": ({"\ud800": ONE}, {}),
    "another policy": ({"a": ONE}, {"longitudinal": "memoize"}),
    "no policy": ({"a": ONE}, {"longitudinal": "x"}),
    "weights of others": ({"a": ONE}, {"weights": {"b": 1}}),
    "a weight of none": ({"a": ONE, "b": ONE}, {"weights": {"a": 1, "b": 0}}),
    "a negative weight": ({"a": ONE, "b": ONE}, {"weights": {"a": 1, "b": -1}}),
    "uneven weights": ({"a": ONE, "b": ONE}, {"weights": {"a": 1, "b": Fraction(1, 2**60)}}),
    "weights in a list": ({"a": ONE}, {"weights": [1]}),
    "too many": ({str(i): ONE for i in range(4097)}, {}),
    "too large": ({str(i): KaryRandomizedResponse(2**24, 1) for i in range(4)}, {}),
}


@pytest.mark.parametrize(("parts", "more"), BAD.values(), ids=list(BAD))
def test_parts_that_do_not_go_together_are_refused(parts, more) -> None:
    with pytest.raises(ParameterError):
        SampledAttributes(parts, **more)


def test_a_part_without_a_pure_loss_is_refused() -> None:
    class Other(KaryRandomizedResponse):
        @property
        def loss(self):
            return rho(1)

    with pytest.raises(ParameterError, match="no pure epsilon"):
        SampledAttributes({"a": Other(2, 1)})


def test_attributes_of_attributes_have_a_depth() -> None:
    scheme = ONE
    for _ in range(4):
        scheme = SampledAttributes({"a": scheme})
    value = {"a": {"a": {"a": {"a": 1}}}}
    assert scheme.server().add(scheme.client().encode(value)).estimate()["a"]["a"]["a"]["a"].reports == 1
    assert from_json(scheme.to_json()) == scheme
    with pytest.raises(ParameterError, match="deep"):
        SampledAttributes({"a": scheme})


# Documents.


def test_documents_hold_the_documents_of_the_parts() -> None:
    for scheme in (small("0.5"), small("2", "memoize")):
        found = from_json(scheme.to_json())
        assert found == scheme
        assert found.fingerprint == scheme.fingerprint
        for part, each in zip(json.loads(scheme.to_json())["parts"], scheme.schemes, strict=True):
            assert from_json(json.dumps(part["document"])) == each
    names = ["b", "a"]
    turned = [SampledAttributes(dict.fromkeys(order, ONE)) for order in (names, sorted(names))]
    assert turned[0].fingerprint != turned[1].fingerprint


def test_documents_that_are_none_are_refused() -> None:
    document = json.loads(small("1").to_json())

    def with_part(**change: object) -> dict[str, object]:
        return {**document, "parts": [{**document["parts"][0], **change}, *document["parts"][1:]]}

    inner = document["parts"][0]["document"]
    for wrong in (
        {**document, "parts": []},
        {**document, "parts": {}},
        {**document, "parts": [document["parts"][0]] * 2},
        {**document, "more": 1},
        with_part(more=1),
        with_part(name=1),
        with_part(weight=0),
        with_part(weight="1"),
        with_part(weight=1.5),
        with_part(weight=2**70),
        with_part(document=None),
        with_part(document={**inner, "longitudinal": "memoize"}),
        with_part(document={**inner, "version": 2}),
        with_part(document={**inner, "more": 2}),
        with_part(document={**inner, "scheme": "two_server_count"}),
        with_part(document={**json.loads(local.LocalHashing(5, 1).to_json()), "hash": "quadratic-1"}),
    ):
        with pytest.raises(ParameterError):
            from_json(json.dumps(wrong))
    deep = json.dumps(document)
    for _ in range(500):
        deep = (
            '{"scheme": "sampled_attributes", "version": 1, "parts": [{"name": "a", "weight": 1, "document": '
            + deep
            + "}]}"
        )
    with pytest.raises(ParameterError):
        from_json(deep)


def test_a_document_is_refused_at_the_first_part_that_is_too_much(monkeypatch) -> None:
    made: list[object] = []
    make = _schema._scheme_of
    monkeypatch.setattr(_schema, "_scheme_of", lambda document: made.append(document) or make(document))
    document = json.loads(local.HadamardResponse(2**24, 1).to_json())
    parts = [{"name": str(i), "weight": 1, "document": document} for i in range(100)]
    with pytest.raises(ParameterError, match=r"2\*\*26 are the most"):
        from_json(json.dumps({"scheme": "sampled_attributes", "version": 1, "parts": parts}))
    assert len(made) <= 1 + 4


# Memory.


def kept(parts: dict[str, local.Scheme]) -> SampledAttributes:
    return SampledAttributes(parts, longitudinal="memoize")


def test_an_attribute_is_kept_for_life_and_another_one_costs_nothing() -> None:
    scheme = small("1", "memoize")
    chosen = []
    for person in range(200):
        client = scheme.client(SECRET + person.to_bytes(2, "little"))
        first = client.encode(RECORDS).rows
        assert len({*first[:, 0].tolist()}) == 1
        number = int(first[0, 0])
        chosen.append(number)
        name = scheme.names[number]
        others = [{**RECORDS[1], name: held[name]} for held in RECORDS]  # all else is another record's
        again = scheme.client(SECRET + person.to_bytes(2, "little"))
        assert again.encode(others).rows.tolist() == first.tolist()
    # Each is drawn by its weight: chi square of 3 degrees, above 47 with probability below 1e-9.
    expected = np.array([2, 1, 3, 2]) / 8 * 200
    assert ((np.bincount(chosen, minlength=4) - expected) ** 2 / expected).sum() < stats.chi2.isf(1e-9, 3)


def test_parts_with_equal_schemes_share_no_draws() -> None:
    """Nor do a part and the same scheme alone, nor two wholes: 64 unary bits agree by chance with 2**-50 or less."""
    part = local.OptimizedUnary(64, 1, longitudinal="memoize")
    two, three = kept({"a": part, "b": part}), kept({"a": part, "b": part, "c": part})
    seen: set[bytes] = set()
    for person in range(12):
        secret = SECRET + bytes([person])
        alone = part.client(secret).encode(5).rows.tobytes()
        rows = [
            scheme.client(secret).encode(dict.fromkeys(scheme.names, 5)).rows.tobytes()[1:] for scheme in (two, three)
        ]
        assert len({alone, *rows}) == 3
        seen |= {alone, *rows}
    assert len(seen) == 36


def test_the_place_of_a_part_chooses_its_draws(monkeypatch) -> None:
    part = local.OptimizedUnary(64, 1, longitudinal="memoize")
    found = []
    for place in (0, 1):
        monkeypatch.setattr(Sampling, "_chosen", lambda _, people, draws, place=place: np.full(people, place))
        found.append(kept({"a": part, "b": part}).client(SECRET).encode({"a": 5, "b": 5}).rows.tobytes()[1:])
    assert found[0] != found[1]


def test_a_part_with_a_fresh_stage_keeps_its_permanent_one() -> None:
    part = local.BasicRappor(4, p="0.4", q="0.6", f="0.5")
    scheme = kept({"a": part, "b": part})
    client = scheme.client(SECRET)
    rows = client.encode([{"a": 1, "b": 2}] * 400).rows
    assert len({row.tobytes() for row in rows}) > 4
    assert len({*rows[:, 0].tolist()}) == 1
    assert scheme.loss == part.loss
    assert scheme.lifetime_loss(reports=1000, values=2).epsilon() == pytest.approx(
        part.lifetime_loss(reports=1000, values=2).epsilon()
    )


def test_estimates_hold_what_is_true() -> None:
    """Each interval at 1 − 1e-10 misses with that probability."""
    scheme = SampledAttributes(
        {"os": local.HadamardResponse(3, 1), "x": local.Hybrid((0, 10), 1)}, weights={"os": 3, "x": 1}
    )
    values = {"os": [0] * 30_000 + [1] * 10_000, "x": [2.0] * 20_000 + [6.0] * 20_000}
    found = scheme.server().add(scheme.simulate(values)).estimate()
    low, high = found["os"].interval("0.9999999999")
    assert (low <= [0.75, 0.25, 0]).all()
    assert (high >= [0.75, 0.25, 0]).all()
    low, high = found["x"].interval("0.9999999999")
    assert low < 4 < high
    share = found["os"].reports / 40_000
    assert abs(share - 0.75) < 7 * math.sqrt(0.75 * 0.25 / 40_000)
