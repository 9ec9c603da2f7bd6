"""What a client remembers is the same in every version: a device that drew its reports anew would reveal more.

The pins are reports of two values under one secret. A change of how a protocol takes its draws shows here; it is a new
version of the protocol, under another name, and never an edit of this file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from discreet import local

SECRET = bytes(range(32))
SCHEMES: dict[str, Callable[[], Any]] = {
    "kary": lambda: local.KaryRandomizedResponse(domain=1000, epsilon="1.5", longitudinal="memoize"),
    "warner": lambda: local.Warner(p="0.6", longitudinal="memoize"),
    "symmetric_unary": lambda: local.SymmetricUnary(domain=30, epsilon="1.5", longitudinal="memoize"),
    "optimized_unary": lambda: local.OptimizedUnary(domain=30, epsilon="1.5", longitudinal="memoize"),
    "hadamard": lambda: local.HadamardResponse(domain=1000, epsilon="1.5", longitudinal="memoize"),
    "projective_geometry": lambda: local.ProjectiveGeometry(domain=1000, epsilon="1.5", longitudinal="memoize"),
    "subset_selection": lambda: local.SubsetSelection(domain=30, epsilon="1.5", longitudinal="memoize"),
    "local_hashing": lambda: local.LocalHashing(domain=1000, epsilon="1.5", longitudinal="memoize"),
    "public_hashing": lambda: local.LocalHashing(domain=1000, epsilon="1.5", keys=64, longitudinal="memoize"),
    "count_mean": lambda: local.CountMeanSketch("1.5", hashes=4, width=30, domain=9, longitudinal="memoize"),
    "hadamard_count_mean": lambda: local.HadamardCountMeanSketch(
        "1.5", hashes=4, width=32, domain=9, longitudinal="memoize"
    ),
    "duchi": lambda: local.Duchi((0, 9), "1.5", longitudinal="memoize"),
    "piecewise": lambda: local.Piecewise((0, 9), "1.5", longitudinal="memoize"),
    "hybrid": lambda: local.Hybrid((0, 9), "1.5", longitudinal="memoize"),
    "square_wave": lambda: local.SquareWave((0, 9), "1.5", longitudinal="memoize"),
}
PINS: dict[str, tuple[str, str]] = {
    "kary": ("1002", "3e03"),
    "warner": ("00", "01"),
    "symmetric_unary": ("1b80a228", "0378f709"),
    "optimized_unary": ("01855000", "03812220"),
    "hadamard": ("bc00", "de00"),
    "projective_geometry": ("c201", "4006"),
    "subset_selection": ("20405800", "0200200b"),
    "local_hashing": ("94b20201", "680f0501"),
    "public_hashing": ("9a00", "5200"),
    "count_mean": ("0080968714", "027080e110"),
    "hadamard_count_mean": ("f6", "71"),
    "duchi": ("00", "00"),
    "piecewise": ("3b05", "5f01"),
    "hybrid": ("0000", "0000"),
    "square_wave": ("5200", "2404"),
}


@pytest.mark.parametrize("name", SCHEMES)
def test_what_clients_remember_never_changes(name) -> None:
    client = SCHEMES[name]().client(SECRET)
    assert tuple(client.encode(value).rows.tobytes().hex() for value in (0, 1)) == PINS[name]


class Redacted(str):
    """A text that prints as every other one does."""

    __slots__ = ()

    def __str__(self) -> str:
        return "***"


@pytest.mark.parametrize(
    "scheme",
    [
        local.Rappor(p=0, q=1, f="0.5", bits=64, hashes=2, cohorts=1),
        local.CountMeanSketch(1, hashes=1, width=64, longitudinal="memoize"),
        local.HadamardCountMeanSketch(1, hashes=64, width=1024, longitudinal="memoize"),
        local.PrefixExtending(1, length=4, longitudinal="memoize"),
    ],
    ids=["rappor", "count_mean", "hadamard_count_mean", "words"],
)
def test_what_a_text_prints_as_does_not_choose_its_draws(scheme) -> None:
    client = scheme.client(SECRET)
    assert client.encode(Redacted("ant")) == client.encode("ant")
    assert client.encode([Redacted("bee"), "bee"]) == client.encode(["bee", "bee"])


@pytest.mark.parametrize("kind", [local.Duchi, local.Piecewise, local.Hybrid, local.SquareWave])
def test_minus_zero_is_no_other_value(kind) -> None:
    for i in range(20):
        client = kind((0, 1), 1, longitudinal="memoize").client(SECRET + bytes([i]))
        assert client.encode(-0.0) == client.encode(0.0) == client.encode(-7)


def test_numbers_of_one_bin_are_one_value() -> None:
    client = local.SquareWave((0, 10), 1, bins=10, longitudinal="memoize").client(SECRET)
    rows = client.encode([3 + i / 64 for i in range(64)]).rows
    assert (rows == rows[0]).all()
    assert len({client.encode(number).rows.tobytes() for number in range(10)}) > 1


WORDS: dict[str, Any] = {"length": 3, "alphabet": "abt", "longitudinal": "memoize"}
READ: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (partial(local.SquareWave, (0, 9), 1, longitudinal="memoize"), {"smooth": False}),
    (partial(local.PrefixExtending, 1, **WORDS), {"keep": 7, "false_words": "0.2"}),
    (partial(local.TreeHist, 1, **WORDS), {"false_words": "0.2", "false_prefixes": 9}),
    (partial(local.SequenceFragmentPuzzle, 1, **WORDS), {"keep": 7, "false_words": "0.2"}),
]


@pytest.mark.parametrize(("make", "readings"), READ, ids=["square wave", "prefixes", "tree", "puzzle"])
@pytest.mark.parametrize("nested", [False, True])
def test_how_a_server_reads_asks_nothing_new_of_anybody(make, readings, nested) -> None:
    def scheme(**more: Any) -> Any:
        one = make(**more)
        return local.SampledAttributes({"a": one}, longitudinal="memoize") if nested else one

    first, value = scheme(), 3 if make.func is local.SquareWave else "tab"
    assert make().reading == readings.keys()
    report = first.client(SECRET).encode([{"a": value}] if nested else value)
    for key, changed in readings.items():
        other = scheme(**{key: changed})
        assert (other.label, other.to_json() == first.to_json()) == (first.label, False)
        assert other.client(SECRET).encode([{"a": value}] if nested else value) == report
        assert other.server(bytes(first.server().add(report))).reports == 1
    document = json.loads(first.to_json())
    told = document["parts"][0]["document"] if nested else document
    for key in told.keys() - readings.keys() - {"scheme", "version", "hash"}:
        changed = {
            "epsilon": "2",
            "bounds": ["0", "8"],
            "alphabet": "abc",
            "longitudinal": "once",
            "fragment_share": ".5",
        }
        told_otherwise = {**told, key: changed.get(key, 2 + told[key] if isinstance(told[key], int) else None)}
        if nested and key != "longitudinal":
            document["parts"][0]["document"] = told_otherwise
            assert local.from_json(json.dumps(document)).label != first.label, key
        elif not nested:
            assert local.from_json(json.dumps(told_otherwise)).label != first.label, key


def test_schemes_of_one_fingerprint_share_no_draws(monkeypatch) -> None:
    schemes = [local.KaryRandomizedResponse(2**20, epsilon, longitudinal="memoize") for epsilon in ("0.001", "0.002")]
    monkeypatch.setattr(local.Scheme, "fingerprint", bytes(8))
    one, two = (scheme.client(SECRET).encode(range(20)) for scheme in schemes)
    assert one.rows.tolist() != two.rows.tolist()
    assert not (one.rows == two.rows).all(axis=1).any()


RECORDS: dict[str, tuple[Callable[[], Any], Any, str]] = {
    "sampled_attributes": (
        lambda: local.SampledAttributes(
            {
                "os": local.KaryRandomizedResponse(1000, "1.5", longitudinal="memoize"),
                "on": local.OptimizedUnary(30, "1.5", longitudinal="memoize"),
                "hours": local.Piecewise((0, 9), "1.5", longitudinal="memoize"),
            },
            weights={"os": 1, "on": "1.5", "hours": 1},
            longitudinal="memoize",
        ),
        [{"os": 7, "on": 0, "hours": 2.5}, {"os": 8, "on": 1, "hours": 3.5}],
        "01911008000141210001 01210402000100800000 011100e4100102240520",
    ),
    "marginals": (
        lambda: local.Marginals({"a": ["x", "y"], "b": 40, "c": 30}, "1.5", longitudinal="memoize"),
        [{"a": "x", "b": 39, "c": 0}, {"a": "y", "b": 0, "c": 29}],
        "002c00006000 011200010f00 02a40b024007",
    ),
    "key_values": (
        lambda: local.KeyValues(["a", "ü", "c"], (0, 9), "1.5", padding=2, longitudinal="memoize"),
        [{"ü": 1.5, "a": 9}, {}, {"c": 1.25}, {"a": 1, "ü": 2, "c": 3}],
        "01060304 06010500 02050606",
    ),
}


@pytest.mark.parametrize("name", RECORDS)
def test_what_clients_remember_of_records_never_changes(name) -> None:
    """Of three people, each with a secret of their own."""
    make, values, pinned = RECORDS[name]
    rows = [make().client(SECRET + bytes([person])).encode(values).rows.tobytes().hex() for person in range(3)]
    assert " ".join(rows) == pinned
