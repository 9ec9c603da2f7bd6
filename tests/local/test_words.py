"""Words that nobody listed: exact ε, the model of errors, false words, what is found, and what may be sent.

Statistical tests fail by chance with probability below 1e-9.
"""

from __future__ import annotations

import itertools
import json
import math
import tracemalloc
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from local_laws import assert_exact, chance_of_mean, law, odds_of
from word_lists import LETTERS, word_list, zipf_people

from discreet.errors import DataError, ParameterError
from discreet.local import (
    HadamardResponse,
    KaryRandomizedResponse,
    OptimizedUnary,
    PrefixExtending,
    Reports,
    SequenceFragmentPuzzle,
    TreeHist,
    from_json,
)
from discreet.local.heavy_hitters._fragment_puzzle import joined
from discreet.local.heavy_hitters._text_sketch import TextSketch, TextTable, fingerprints, hashed, piece_of
from discreet.noise import fresh_draws

KINDS = (PrefixExtending, TreeHist, SequenceFragmentPuzzle)
EVERY = pytest.mark.parametrize("kind", KINDS)

TINY: dict[Any, dict[str, Any]] = {
    PrefixExtending: {"rows": 2, "width": 2, "key": 1},
    TreeHist: {"rows": 2, "width": 3, "key": 1},
    SequenceFragmentPuzzle: {
        "fragment": 1,
        "pieces": 2,
        "fragment_share": "1/2",
        "rows": 2,
        "width": 2,
        "word_rows": 1,
        "word_width": 2,
    },
}
ROUNDS = 120
SPELT = ["", "a", "b", "aa", "ab", "ba", "bb"]


def tiny(kind, epsilon, **more):
    return kind(epsilon, length=2, alphabet="ab", **{**TINY[kind], **more})


def small(kind, epsilon=4, **more):
    """For a few words of up to four letters, with tables that are read in milliseconds."""
    puzzle = {"pieces": 8, "keep": 30, "rows": 64, "width": 64, "word_rows": 256, "word_width": 32}
    sizes = puzzle if kind is SequenceFragmentPuzzle else {"rows": 256}
    return kind(epsilon, **{"length": 4, "alphabet": "abt", **sizes, **more})


@pytest.mark.sampled
@EVERY
@pytest.mark.parametrize("epsilon", ["1e-5", "2", "20"])
def test_the_exact_epsilon_is_the_claim(kind, epsilon) -> None:
    scheme = tiny(kind, epsilon)
    odds = odds_of(scheme, ["", "ab", "ba"] if kind is SequenceFragmentPuzzle else SPELT)
    assert_exact(odds, Fraction(epsilon))
    assert_exact(odds, Fraction(scheme.loss.epsilon()))


@EVERY
def test_the_public_coins_do_not_depend_on_the_word(kind) -> None:
    """The law of the group or position and of the rows is uniform, but that a third of all tell the whole word."""
    scheme = tiny(kind, 2)
    for word in ["", "ab"]:
        found = defaultdict[Any, Fraction](Fraction)
        for report, weight in law(scheme, word).items():
            fields = scheme.layout.unpack(np.frombuffer(report, dtype=np.uint8).reshape(1, -1))[0]
            coins = tuple(int(number[0]) for number in fields.numbers)
            found[coins if kind is SequenceFragmentPuzzle else coins[0] // scheme.sketch.inner.cells] += weight
        if kind is SequenceFragmentPuzzle:
            assert found == {(place, 0): Fraction(1, 4) for place in range(4)}
        else:
            assert found == {0: Fraction(1, 3), 1: Fraction(1, 3), 2: Fraction(1, 6), 3: Fraction(1, 6)}


@pytest.mark.parametrize(
    "inner",
    [KaryRandomizedResponse(3, 1), HadamardResponse(3, 1), OptimizedUnary(3, 1)],
    ids=["kary", "hadamard", "unary"],
)
def test_tables_are_unbiased_exactly(inner) -> None:
    """What one report adds, on average: a third of a sender in the bucket of each row, and none in others."""
    sketch = TextSketch(inner, groups=2, rows=3, key=5)

    class Told:
        layout = sketch.layout

        def prepare(self, value):
            return np.array([value], dtype=object)

        def perturb(self, prepared, draws):
            return sketch.perturb(prepared, np.array([1]), draws)

    means = np.zeros((3, 3))
    for report, weight in law(Told(), "tab").items():  # type: ignore[arg-type]
        fields, valid = sketch.layout.unpack(np.frombuffer(report, dtype=np.uint8).reshape(1, -1))
        assert valid.all()
        counts = np.zeros(sketch.cells, dtype=np.int64)
        sketch.tally(fields, counts)
        assert sketch.table(counts, 0, 1).reports == 0
        table = sketch.table(counts, 1, 1)
        assert table.reports == 1
        means += float(weight) * table.senders
    buckets = hashed(fingerprints([(1, "tab")], 5), np.arange(3)[:, None], 3, 5, 3)
    assert means == pytest.approx(np.eye(3)[buckets[:, 0]] / 3, abs=1e-9)


def test_fast_hashes_are_as_specified() -> None:
    marks = fingerprints([(0, "ant"), (7, "ü\0")], 9)
    from hashlib import blake2b

    text = b"discreet words-1 text\0" + (9).to_bytes(8, "little") + (7).to_bytes(8, "little") + "ü\0".encode()
    assert marks[1] == int.from_bytes(blake2b(text, digest_size=8).digest(), "little")
    for row in range(4):
        row_text = b"discreet words-1 row\0" + (9).to_bytes(8, "little") + row.to_bytes(8, "little")
        digest = blake2b(row_text, digest_size=24).digest()
        a, b, c = (int.from_bytes(digest[at : at + 8], "little") for at in (0, 8, 16))
        for mark in marks.tolist():
            word = (a * (mark % 2**32) + b * (mark >> 32) + c) % 2**64 >> 32
            got = hashed(np.array([mark], dtype=np.uint64), np.array([row]), 4, 9, 1000)
            assert got.tolist() == [word * 1000 >> 32]
    text = b"discreet words-1 piece\0" + (9).to_bytes(8, "little") + b"ant"
    assert piece_of("ant", 9, 300) == int.from_bytes(blake2b(text, digest_size=8).digest(), "little") * 300 >> 64


def test_two_texts_collide_as_the_model_says() -> None:
    """200 rows of 10,000 pairs: collisions are 1/size; Var of a pair's share is that of independent rows (χ²)."""
    marks = fingerprints(((0, str(i)) for i in range(20_000)), 3)
    buckets = hashed(marks, np.arange(200)[:, None], 200, 3, 16)
    together = (buckets[:, ::2] == buckets[:, 1::2]).sum(axis=0)
    assert abs(together.mean() - 12.5) < 6.2 * math.sqrt(200 * 15 / 256 / 10_000)
    spread = ((together - 12.5) ** 2).sum() / (200 * 15 / 256)
    assert abs(spread - 10_000) < 6.5 * math.sqrt(2 * 10_000 * 1.03)


@pytest.mark.parametrize("inner", [KaryRandomizedResponse, HadamardResponse, OptimizedUnary])
@pytest.mark.parametrize(("epsilon", "rows", "width"), [(4, 16, 16)])
def test_errors_are_those_of_theory(inner, epsilon, rows, width) -> None:
    """Over hash functions, clients and who is asked; each round's mean over the words is one observation."""
    people = np.repeat(np.arange(30), np.maximum(1200 // np.arange(1, 31) ** 2, 5))
    shares = np.bincount(people) / people.size
    texts = np.array([str(i) for i in range(40)], dtype=object)
    told = np.append(shares, np.zeros(10))
    rng = np.random.default_rng(5)
    errors, stated = [], []
    for key in range(ROUNDS):
        sketch = TextSketch(inner(width, epsilon), groups=2, rows=rows, key=key)
        groups = rng.integers(0, 2, people.size)
        counts = np.zeros(sketch.cells, dtype=np.int64)
        sketch.tally(sketch.layout.unpack(sketch.perturb(texts[people], groups, fresh_draws()))[0], counts)
        table = sketch.table(counts, 1, people.size)
        asked = table.reports
        assert asked == groups.sum()
        found = table.frequencies(texts.tolist())
        own, any_one = (sketch.inner.variance(np.eye(width)[0])[0], sketch.inner.variance(np.full(width, 1 / width)))
        one = (told * own + (1 - told) * (any_one.mean() + (1 - 1 / rows) * (1 - 1 / width) / width)) / asked
        one /= (1 - 1 / width) ** 2
        theory = one + ((shares**2).sum() - told**2) / (rows * (width - 1))
        theory += told * (1 - told) / asked * (1 - asked / people.size)
        errors.append(((found - told) ** 2 / theory).mean())
        stated.append((table.variance(found) / theory).mean())
    spread = np.std(errors, ddof=1) / math.sqrt(ROUNDS)
    assert chance_of_mean(np.array(errors)) > 1e-9
    assert spread < 0.05
    assert np.mean(stated) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("inner", [KaryRandomizedResponse, HadamardResponse, OptimizedUnary])
@pytest.mark.parametrize(("people", "rows"), [(60, 4), (600, 32)])
def test_false_words_are_as_rare_as_stated(inner, people, rows) -> None:
    """500 absent words in 60 collections, one heavy word; 0.02 a collection is stated: above 12 with P < 1e-9."""
    texts = np.array(["the"] * (people // 3) + [str(i) for i in range(people - people // 3)], dtype=object)
    absent = [f"no{i}" for i in range(500)]
    false = 0
    for key in range(60):
        sketch = TextSketch(inner(16, 3), groups=1, rows=rows, key=key)
        counts = np.zeros(sketch.cells, dtype=np.int64)
        rows_of = sketch.perturb(texts, np.zeros(people, dtype=np.int64), fresh_draws())
        sketch.tally(sketch.layout.unpack(rows_of)[0], counts)
        table = sketch.table(counts, 0, people)
        false += int((table.frequencies(absent) > table.threshold(0.02 / 500)).any())
    assert false <= 12


def test_thresholds_solve_bennetts_inequality() -> None:
    sketch = TextSketch(KaryRandomizedResponse(16, 2), groups=1, rows=64, key=0)
    held = np.full(64, 50)
    senders = np.full((64, 16), 50 / 16)
    table = TextTable(sketch, 0, 3200, held, senders)
    variance = float(table.variance(np.zeros(1))[0])
    most = max((1 - 0.0) / 3200, math.sqrt(table.squares) / 64)
    for chance in (0.5, 1e-3, 1e-9):
        t = table.threshold(chance)
        assert t >= math.sqrt(2 * variance * math.log(1 / chance)) * (1 - 1e-9)
        tilt = most * t / variance
        if most == math.sqrt(table.squares) / 64:
            bound = math.exp(-variance / most**2 * ((1 + tilt) * math.log1p(tilt) - tilt))
            assert bound == pytest.approx(chance, rel=1e-6)
    assert table.threshold(1.0) == pytest.approx(0, abs=1e-12)


@EVERY
def test_words_are_found(kind) -> None:
    """5,000 people for each of two words in 12,000, at ε = 4: above 8 standard errors over the threshold."""
    scheme = small(kind)
    people = ["tab"] * 5000 + ["abba"] * 5000 + ["", "a", "b", "tt"] * 500
    found = scheme.server().add(scheme.simulate(people)).estimate()
    assert set(found.top(2).words) == {"tab", "abba"}
    assert (abs(found.top(2).frequencies - 5 / 12) < 6.3 * found.top(2).stderr).all()
    assert (found.frequencies[:-1] >= found.frequencies[1:]).all()
    assert (found.frequencies > found.threshold).all()
    assert found.counts == pytest.approx(found.frequencies * 12_000)
    low, high = found.interval("0.999")
    assert ((low >= 0) & (low < found.frequencies) & (found.frequencies < high)).all()
    assert found.to_arrow().column_names == ["word", "frequency", "stderr", "low", "high"]


@EVERY
def test_given_words_are_ranked(kind) -> None:
    scheme = small(kind)
    server = scheme.server().add(scheme.simulate(["tab"] * 6000 + ["bat"] * 2000 + ["at"] * 100))
    found = server.estimate(candidates=["bat", "tt", "tab", "tab", "tabbbbb", "tabbaaa"])
    assert found.words[:2] == ("tab", "bat")
    assert sorted(found.words) == ["bat", "tab", "tabb", "tt"]
    assert len(server.estimate(candidates=[])) == 0
    assert server.estimate(candidates="tab").words == ("tab",)
    for candidates in ([1], 5, ["x"]):
        with pytest.raises(ParameterError):
            server.estimate(candidates=candidates)  # type: ignore[arg-type]


SMALLER: dict[Any, dict[str, Any]] = {
    PrefixExtending: {},
    TreeHist: {"false_prefixes": 256},
    SequenceFragmentPuzzle: {"pieces": 64, "rows": 256, "width": 256, "keep": 300},
}


@EVERY
def test_the_ten_most_frequent_of_a_list_are_found(kind) -> None:
    """40 words, 100,000 people: the tenth has a share of 0.0216, above all thresholds by 6.5 standard errors."""
    words = word_list(40)
    scheme = kind(
        10 if kind is SequenceFragmentPuzzle else 8, length=10, alphabet=LETTERS, false_words="1e-10", **SMALLER[kind]
    )
    found = scheme.server().add(scheme.simulate(zipf_people(words, 100_000))).estimate()
    assert set(words[:10]) <= set(found.words) <= set(words)


LARGER: dict[Any, dict[str, Any]] = {PrefixExtending: {}, TreeHist: {"step": 2}, SequenceFragmentPuzzle: {}}


@pytest.mark.soak
@EVERY
def test_the_ten_most_frequent_of_two_thousand_are_found(kind) -> None:
    """2,000 words, a million people, ε = 4: the tenth has a share of 0.0134, above all thresholds by 6.1 or more.

    Standard errors, that is: one of the ten is missed with probability 1e-8 or so, two with below 1e-14. A
    word that nobody has gets above 8 of them with probability below 1e-11.
    """
    words = word_list(2000)
    scheme = kind(4, length=10, alphabet=LETTERS, **LARGER[kind])
    found = scheme.server().add(scheme.simulate(zipf_people(words, 1_000_000))).estimate()
    assert len({*words[:10]} & {*found.words}) >= 9
    assert set(words[:3]) == set(found.top(3).words)
    false = [place for place, word in enumerate(found.words) if word not in set(words)]
    assert (found.frequencies[false] < 8 * found.stderr[false]).all()


@pytest.mark.soak
@pytest.mark.parametrize("kind", [PrefixExtending, TreeHist])
def test_the_ten_most_frequent_of_two_thousand_are_found_in_bytes(kind) -> None:
    """As above without an alphabet: by 5.5 standard errors, so that two are missed with probability below 1e-12."""
    words = word_list(2000)
    scheme = kind(4, length=10, **({"false_prefixes": 512} if kind is TreeHist else {}))
    found = scheme.server().add(scheme.simulate(zipf_people(words, 1_000_000))).estimate()
    assert len({*words[:10]} & {*found.words}) >= 9


@EVERY
def test_nothing_is_found_where_nothing_is(kind) -> None:
    """5,000 people who all say something else, and a chance of 1e-10 of a false word."""
    scheme = small(kind, length=6, alphabet="abcdefgh", false_words="1e-10")
    people = ["".join(word) for word in itertools.product("abcdefgh", repeat=4)] + ["a" * i for i in range(7)]
    assert scheme.server().add(scheme.simulate(people)).estimate().words == ()


HOSTILE = [
    "",
    "\0",
    "a\0b",
    "\0\0\0\0",
    "日本語",
    "\ud800",
    "é" * 9,
    "👩‍👩‍👧",
    "x" * 100_000,
    "\x1b[2J",
    "𝒳",
    "a\ud8ff",
]


@EVERY
def test_any_text_can_be_reported(kind) -> None:
    more = {"pieces": 64, "keep": 100} if kind is SequenceFragmentPuzzle else {}
    scheme = small(kind, 20, length=8, alphabet=None, false_words="1e-10", **more)
    cut = ["", "\0", "a\0b", "\0\0\0\0", "日本", "?", "éééé", "👩‍", "x" * 8, "\x1b[2J", "𝒳", "a?"]
    assert [scheme.letters.text(each) for each in scheme.prepare(HOSTILE)] == cut
    found = scheme.server().add(scheme.simulate(HOSTILE * 2000)).estimate()
    assert set(found.words) == set(cut)
    assert found.to_arrow().num_rows == len(cut)


@EVERY
def test_what_is_no_text_is_refused_before_anything_is_drawn(kind, monkeypatch) -> None:
    monkeypatch.setattr("discreet.local._client.fresh_draws", None)
    for scheme in (small(kind), small(kind, alphabet=None)):
        for value in (1, None, 0.5, b"tab", [b"tab"], ["tab", None], [["tab"]], [1], np.nan, object()):
            with pytest.raises(ParameterError, match="texts"):
                scheme.client().encode(value)
    for value in ("x", ["tab", "xylophone"], "\ud800", "Tab"):
        with pytest.raises(ParameterError, match="alphabet") as refusal:
            small(kind).client().encode(value)
        assert "xylo" not in str(refusal.value)
    assert len(small(kind, alphabet=None).simulate([])) == 0


@EVERY
def test_forged_reports_neither_crash_nor_hang(kind) -> None:
    rng = np.random.default_rng(3)
    for alphabet in ("abt", None):
        scheme = small(kind, alphabet=alphabet)
        honest = scheme.simulate(["tab"] * 50)
        for rows in (
            rng.integers(0, 256, (3000, honest.width), dtype=np.uint8),
            np.zeros((3000, honest.width), dtype=np.uint8),
            np.full((3000, honest.width), 255, dtype=np.uint8),
            np.repeat(honest.rows[:1], 5000, axis=0),
            honest.rows[:1],
        ):
            server = scheme.server().add(Reports(honest.fingerprint, rows))
            assert server.reports + server.rejected == len(rows)
            assert scheme.server(state=bytes(server)) == server
            if server.reports:
                assert np.isfinite(server.estimate().frequencies).all()
                assert len(server.estimate(candidates=["a", "b"])) == 2
    with pytest.raises(DataError):
        small(kind).server().estimate()


def test_spare_bits_of_a_fragment_are_not_taken() -> None:
    scheme = tiny(SequenceFragmentPuzzle, 1)
    rows = scheme.simulate(["ab"] * 4).rows.copy()
    rows[:2, 2] |= 4
    server = scheme.server().add(Reports(scheme.fingerprint, rows))
    assert (server.reports, server.rejected) == (2, 2)


@EVERY
def test_servers_merge_and_documents_survive(kind) -> None:
    scheme = small(kind, 3, key=9, alphabet=None)
    assert from_json(scheme.to_json()) == scheme
    reports = scheme.simulate(["tab"] * 300 + ["ü"] * 20)
    one = scheme.server().add(reports)
    parts = [scheme.server().add(Reports(reports.fingerprint, rows)) for rows in np.array_split(reports.rows, 7)]
    merged = parts[0]
    for part in parts[1:]:
        merged = part + merged
    assert bytes(merged) == bytes(one)
    assert merged.estimate().words == one.estimate().words
    assert len(bytes(one)) == 8 * (2 + scheme.cells) + 15
    for change in ({"hash": "blake2b-1"}, {"alphabet": "aa"}, {"more": 1}, {"length": 0}, {"false_words": "2"}):
        with pytest.raises(ParameterError):
            from_json(json.dumps({**json.loads(scheme.to_json()), **change}))


@EVERY
def test_a_secret_remembers_group_and_report(kind) -> None:
    scheme = small(kind, longitudinal="memoize")
    one, again = (scheme.client(secret=bytes(range(16))) for _ in range(2))
    assert one.encode(["tab", "bat"] * 20) == again.encode(["tab", "bat"] * 20)
    assert one.encode("tabbb") == one.encode("tabbtttt")  # cut alike, so the same word
    assert len({row.tobytes() for row in one.encode(["tab"] * 50).rows}) == 1
    other = [scheme.client(secret=bytes([i]) * 16).encode("tab").rows.tobytes() for i in range(40)]
    assert len(set(other)) > 5


PINS: dict[Any, tuple[str, str]] = {
    PrefixExtending: ("8610", "2902"),
    TreeHist: ("bbc200", "9e7000"),
    SequenceFragmentPuzzle: ("6e87960302002b16041068862d1f", "29aa86819c1a8524291429176452"),
}


@EVERY
def test_what_clients_remember_never_changes(kind) -> None:
    """As `test_remembered`: a change here is a new version of the protocol, and never an edit of these pins."""
    client = small(kind, "1.5", longitudinal="memoize").client(bytes(range(32)))
    assert tuple(client.encode(value).rows.tobytes().hex() for value in ("tab", "")) == PINS[kind]


@EVERY
@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 0},
        {"epsilon": "x"},
        {"epsilon": 101},
        {"length": 0},
        {"length": 257},
        {"length": 2.5},
        {"length": True},
        {"alphabet": ""},
        {"alphabet": "aba"},
        {"alphabet": "a\ud800"},
        {"alphabet": 5},
        {"alphabet": ["a", "b"]},
        {"rows": 0},
        {"rows": 2**16, "width": 2**10},
        {"width": 1},
        {"key": -1},
        {"key": 2**32},
        {"false_words": 0},
        {"false_words": 1},
        {"longitudinal": "never"},
    ],
    ids=str,
)
def test_bad_parameters_are_refused(kind, change) -> None:
    with pytest.raises(ParameterError):
        kind(**{"epsilon": 2, "length": 4, "alphabet": "abt", **change})


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (PrefixExtending, {"keep": 0}),
        (PrefixExtending, {"step": 5, "alphabet": LETTERS}),
        (TreeHist, {"step": 0}),
        (TreeHist, {"false_prefixes": 0}),
        (SequenceFragmentPuzzle, {"fragment_share": 0}),
        (SequenceFragmentPuzzle, {"fragment_share": 1}),
        (SequenceFragmentPuzzle, {"fragment": 3, "alphabet": LETTERS}),
        (SequenceFragmentPuzzle, {"fragment": 2, "alphabet": None}),
        (SequenceFragmentPuzzle, {"pieces": 1}),
        (SequenceFragmentPuzzle, {"keep": 2**15}),
        (SequenceFragmentPuzzle, {"epsilon": "1e-6"}),
    ],
    ids=str,
)
def test_bad_parameters_of_one_scheme_are_refused(kind, change) -> None:
    with pytest.raises(ParameterError):
        kind(**{"epsilon": 2, "length": 10, "alphabet": "abt", **change})


def test_the_parts_of_epsilon_add_up() -> None:
    scheme = SequenceFragmentPuzzle("3", length=4, alphabet="ab", fragment_share="1/3")
    assert scheme.fragments.inner.epsilon + scheme.whole_words.inner.epsilon == 3  # type: ignore[attr-defined]
    assert scheme.loss.epsilon() == 3


def test_fragments_are_joined_as_one_would_by_hand() -> None:
    found = [
        [(0, "ab", 0.5), (1, "ab", 0.4), (0, "a", 0.3), (1, "", 0.2)],
        [(0, "ba", 0.5), (1, "", 0.4), (0, "", 0.3), (2, "tt", 0.2)],
        [(0, "t", 0.5), (1, "", 0.4), (0, "", 0.3)],
    ]
    expected = set()
    for one, two, three in itertools.product(*found):
        if one[0] == two[0] == three[0]:
            parts = [one[1], two[1], three[1]]
            if all(len(part) == 2 or not any(parts[place + 1 :]) for place, part in enumerate(parts)):
                expected.add((one[0], "".join(parts)))
    got = joined(found, size=2)
    assert set(got) == expected
    assert len(got) == len(expected)
    assert joined([[(0, "ab", 1.0)], []], size=2) == []
    many = [[(0, a + b, 1 / (1 + i + j)) for i, a in enumerate(LETTERS[:5]) for j, b in enumerate(LETTERS[:5])]] * 4
    best = joined(many, size=2)
    assert len(best) == 2**16
    assert (0, "a" * 8) in best


@pytest.mark.parametrize("most", [1, 2, 5, 20, 10**6])
def test_of_joined_beginnings_the_best_stay(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if all were made, and then those kept whose rarest fragment is the most frequent."""
    monkeypatch.setattr("discreet.local.heavy_hitters._fragment_puzzle._MOST", most)
    rng = np.random.default_rng(most)
    for _ in range(60):
        places = list(itertools.product((0, 1), ("", *LETTERS[:3])))
        found = [[(*place, float(rng.integers(1, 6)) / 8) for place in places if rng.random() < 0.7] for _ in range(2)]
        every = [
            (min(one[2], two[2]), one[0], one[1] + two[1])
            for one, two in itertools.product(*found)
            if one[0] == two[0] and (one[1] or not two[1])
        ]
        least = {(piece, word): share for share, piece, word in every}
        got = joined(found, size=1)
        assert len(set(got)) == len(got) == min(most, len(every))
        assert sorted(least[each] for each in got) == sorted(least.values())[len(every) - len(got) :]


def test_fragments_of_one_piece_do_not_make_the_server_grow() -> None:
    """Reports can be forged so that all fragments that are kept have one piece: all pairs of them would fill memory."""
    tracemalloc.start()
    forged = [[(7, f"{i:04d}", 1 - share * i) for i in range(2000)] for share in (0, 1e-5, 0)]
    assert len(joined(forged, size=4)) == 2**16
    assert tracemalloc.get_traced_memory()[1] < 60_000_000
    tracemalloc.stop()


@EVERY
def test_tops_are_cut_and_numbers_of_them_checked(kind) -> None:
    scheme = small(kind)
    found = scheme.server().add(scheme.simulate(["tab"] * 5000)).estimate()
    assert found.top(0).words == ()
    assert found.top(99).words == found.words
    assert len(found.top(1)) == 1
    for k in (-1, 1.5, True, "1"):
        with pytest.raises(ParameterError, match="k must"):
            found.top(k)  # type: ignore[arg-type]


@EVERY
def test_one_letter_words_need_one_group(kind) -> None:
    """3,000 people of three letters at ε = 8: each has a share of a third."""
    scheme = small(kind, 8, length=1)
    found = scheme.server().add(scheme.simulate(["a", "b", "t"] * 1000)).estimate()
    assert set(found.words) == {"a", "b", "t"}


@EVERY
def test_steps_that_do_not_divide_the_length(kind) -> None:
    """Four words at ε = 8, 4,000 people each; the last prefix or fragment is shorter."""
    more = {"fragment": 3} if kind is SequenceFragmentPuzzle else {"step": 3}
    scheme = small(kind, 8, length=5, **more)
    words = {"tabba", "tab", "ta", "abtab"}
    found = scheme.server().add(scheme.simulate([word for word in words for _ in range(4000)])).estimate()
    assert set(found.top(4).words) == words
