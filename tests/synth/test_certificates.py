"""Certificates and files of synthetic tables: what was changed is seen, and what is no table is refused quickly."""

from __future__ import annotations

import base64
import copy
import json
import math
import random
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from synth_neighbours import policy_of, some_rows, table_of

import discreet as dp
from discreet import synth
from discreet.errors import LedgerError
from discreet.ledger import verify_release
from discreet.release import parse_release_file, recompute_loss, verify_loss

pytestmark = pytest.mark.usefixtures("one_database")

_SECONDS, _BYTES = 10.0, 300 * 2**20
"""What a refusal takes at most; most take milliseconds."""


def _fitted(spend: dp.Loss, budget: dict[str, Any], relation: str = "add_remove", **how: Any) -> synth.SyntheticTable:
    dice = random.Random(7)
    rows = [row for person in range(60) for row in some_rows(dice, 0, person)]
    with dp.connect({"t": table_of(rows)}, policy_of(relation, 2, budget)) as session:
        return synth.fit(session, "t", spend, **how)


@pytest.fixture(scope="module")
def pure() -> synth.SyntheticTable:
    return _fitted(dp.pure(4), {"epsilon": 9}, "substitute")


@pytest.fixture(scope="module")
def rho() -> synth.SyntheticTable:
    return _fitted(dp.rho(1), {"rho": 9}, target="c")


@pytest.fixture(scope="module")
def approx() -> synth.SyntheticTable:
    return _fitted(dp.approx(3, "1e-6"), {"epsilon": 9, "delta": "1e-5"}, tier="instant")


Change = Callable[[dict[str, Any]], None]


def _first(certificate: dict[str, Any], what: str) -> dict[str, Any]:
    return next(step for step in certificate["steps"] if what in step)


def _set(**values: Any) -> Change:
    return lambda certificate: certificate.update(values)


def _step(what: str, **values: Any) -> Change:
    return lambda certificate: _first(certificate, what).update(values)


def _dropped(what: str) -> Change:
    return lambda certificate: certificate["steps"].remove(_first(certificate, what))


def _noise(numerator: int) -> Change:
    def change(certificate: dict[str, Any]) -> None:
        step = _first(certificate, "measured")
        step["scale" if "scale" in step else "sigma"] = f"{numerator}/1000"

    return change


def _cheaper(certificate: dict[str, Any]) -> None:
    for name, value in certificate["loss"].items():
        if name != "kind" and value != "0":
            certificate["loss"][name] = f"{value}/2" if "/" not in value else f"{value}0"


SEEN: dict[str, Change] = {
    "less noise": _noise(900),
    "much less noise": _noise(1),
    "more noise": _noise(10**6),
    "a larger epsilon": _step("chosen", epsilon="50"),
    "half the sensitivity": lambda c: _step("chosen", sensitivity=_first(c, "chosen")["sensitivity"] // 2)(c),
    "twice the sensitivity": lambda c: _step("chosen", sensitivity=_first(c, "chosen")["sensitivity"] * 2)(c),
    "no sensitivity": _step("chosen", sensitivity=0),
    "another weight": lambda c: _step("chosen", weight=_first(c, "chosen")["weight"] * 2)(c),
    "no weight": lambda c: _first(c, "chosen").pop("weight") and None,
    "a measurement is missing": _dropped("measured"),
    "a measurement again": lambda c: c["steps"].append(_first(c, "measured")),
    "another order": lambda c: c["steps"].reverse(),
    "another column": _step("measured", measured=["z"]),
    "columns that are none": _step("measured", measured=[1]),
    "no column": _step("measured", measured=[]),
    "one column twice": _step("measured", measured=["a", "a"]),
    "another mechanism": _step("measured", mechanism="Laplace"),
    "no steps": _set(steps=[]),
    "steps that are none": _set(steps={"a": 1}),
    "a step that is none": lambda c: c["steps"].append(None),
    "more rows for each unit": _set(rows_per_unit=4),
    "fewer rows for each unit": _set(rows_per_unit=1),
    "no rows for each unit": _set(rows_per_unit=0),
    "rows that are no number": _set(rows_per_unit="2"),
    "a relation that is none": _set(relation="edges"),
    "another relation": lambda c: c.update(relation=_OTHER[c["relation"]]),
    "another currency": lambda c: c.update(currency={"pure": "rho", "rho": "pure", "mu": "pure"}[c["currency"]]),
    "no currency": _set(currency=None),
    "a smaller loss": _cheaper,
    "a loss that is none": _set(loss={"kind": "pure"}),
    "another digest of what was measured": _set(measured="0" * 64),
}
_OTHER = {"add_remove": "substitute", "substitute": "add_remove"}


@pytest.mark.parametrize("kind", ["pure", "rho", "approx"])
@pytest.mark.parametrize("change", SEEN)
def test_a_certificate_that_was_changed_is_refused_without_its_signature(request, kind: str, change: str) -> None:
    certificate = json.loads(json.dumps(request.getfixturevalue(kind).certificate))
    assert verify_loss(certificate) is None
    SEEN[change](certificate)
    with pytest.raises(LedgerError):
        verify_loss(certificate)


@pytest.mark.parametrize("kind", ["pure", "rho", "approx"])
def test_every_change_of_a_certificate_breaks_its_signature(request, kind: str) -> None:
    release = request.getfixturevalue(kind)
    content = release.to_dict()
    assert {each.result for each in _checks(content)} == {"good", "not checked"}
    for name, value in content["certificate"].items():
        changed = copy.deepcopy(content)
        changed["certificate"][name] = [value]
        results = {each.name: each.result for each in _checks(changed)} if name != "kind" else {"signature": "bad"}
        assert results["signature"] == "bad", name


def _checks(content: dict[str, Any]) -> list[Any]:
    return list(verify_release(parse_release_file(json.dumps(content).encode())))


@pytest.mark.parametrize("kind", ["pure", "rho", "approx"])
def test_a_changed_file_does_not_hold_what_was_certified(request, kind: str) -> None:
    """A count, a potential, a merge, a cell, the total, and the noise of a marginal."""
    content = request.getfixturevalue(kind).to_dict()
    changes: list[Change] = [
        lambda c: c.update(total=c["total"] + 1),
        lambda c: c.update(table="u"),
        lambda c: c["measured"][0]["counts"].__setitem__(0, c["measured"][0]["counts"][0] + 1),
        lambda c: c["measured"].pop(),
        lambda c: c["measured"][0].update(columns=[1]),
        lambda c: c["measured"][0].update({"scale" if "scale" in c["measured"][0] else "sigma": "1"}),
        lambda c: c["potentials"].pop(),
        lambda c: c["merges"][0]["shares"].__setitem__(0, math.nextafter(c["merges"][0]["shares"][0], 2)),
        lambda c: c["columns"][0].update(nullable=False),
    ]
    for change in changes:
        changed = copy.deepcopy(content)
        change(changed)
        assert {each.result for each in _checks(changed) if each.name == "answer"} == {"bad"}


def test_a_loss_adds_up_to_what_was_charged_and_no_more(pure, rho, approx) -> None:
    for release, spend in ((pure, dp.pure(4)), (rho, dp.rho(1)), (approx, dp.approx(3, "1e-6"))):
        assert recompute_loss(release.certificate).fits(spend)


def _floats(count: int, value: float = 0.0) -> str:
    return base64.b64encode(np.full(count, value, "<f8").tobytes()).decode()


def _bits(count: int, size: int = 2) -> dict[str, Any]:
    """Fields of so many columns of one public key that may be null, merged into `size` cells."""
    column = {
        "type": "int", "nullable": True, "keys": [1], "cuts": [], "bounds": ["0", "0"], "step": "1",
    }  # fmt: skip
    merge = {"into": [0, 1], "shares": [1.0, 1.0]} if size == 2 else {"into": [0, 0], "shares": [0.5, 0.5]}
    return {
        "columns": [{**column, "name": f"c{i}"} for i in range(count)],
        "merges": [merge] * count,
        "potentials": [],
        "measured": [],
    }


def _pairs(count: int, size: int = 2) -> dict[str, Any]:
    """A potential of each pair of columns: together they hold 2**count cells, or one of as many columns."""
    pairs = [{"columns": [i, j], "values": _floats(size**2)} for i in range(count) for j in range(i + 1, count)]
    return {**_bits(count, size), "potentials": pairs}


def _numbers(kind: str, bounds: tuple[str, str], step: str, cuts: list[Any]) -> dict[str, Any]:
    fields = _bits(1)
    column = {"type": kind, "keys": None, "bounds": list(bounds), "step": step, "cuts": cuts, "nullable": False}
    fields["columns"][0].update(column)
    size = len(cuts) + 1
    return {**fields, "merges": [{"into": list(range(size)), "shares": [1.0] * size}]}


HOSTILE: dict[str, Callable[[], dict[str, Any]]] = {
    "no columns": lambda: {"columns": [], "merges": [], "potentials": [], "measured": []},
    "columns that are none": lambda: {"columns": [None]},
    "a column twice": lambda: {**_bits(2), "columns": [_bits(1)["columns"][0]] * 2},
    "many columns": lambda: _bits(3_000),
    "all pairs of forty columns": lambda: _pairs(40),
    "all pairs of columns of one cell each": lambda: _pairs(150, 1),
    "a merge into a billion cells": lambda: {**_bits(1), "merges": [{"into": [0, 10**9], "shares": [1, 1]}]},
    "a merge into less than nothing": lambda: {**_bits(1), "merges": [{"into": [0, -1], "shares": [1, 1]}]},
    "a merge that leaves a cell out": lambda: {**_bits(1), "merges": [{"into": [0, 2], "shares": [1, 1]}]},
    "a merge of nothing": lambda: {**_bits(1), "merges": [{"into": [], "shares": []}]},
    "a merge of other cells": lambda: {**_bits(1), "merges": [{"into": [0, 1, 2], "shares": [1, 1, 1]}]},
    "shares that are no numbers": lambda: {**_bits(1), "merges": [{"into": [0, 1], "shares": [float("nan"), 1]}]},
    "shares below nothing": lambda: {**_bits(1), "merges": [{"into": [0, 0], "shares": [2.0, -1.0]}]},
    "shares that are too much": lambda: {**_bits(1), "merges": [{"into": [0, 0], "shares": [2.0, 1.0]}]},
    "a total that is no number": lambda: {**_bits(1), "total": float("nan")},
    "an infinite total": lambda: {**_bits(1), "total": float("inf")},
    "a total below nothing": lambda: {**_bits(1), "total": -1.0},
    "a total beyond floats": lambda: {**_bits(1), "total": 10**400},
    "a potential of a column before the first": lambda: {
        **_bits(2), "potentials": [{"columns": [-1], "values": _floats(2)}],
    },
    "a potential of a column behind the last": lambda: {
        **_bits(2), "potentials": [{"columns": [2], "values": _floats(2)}],
    },
    "a potential of one column twice": lambda: {
        **_bits(2), "potentials": [{"columns": [0, 0], "values": _floats(4)}],
    },
    "a potential of no column": lambda: {**_bits(2), "potentials": [{"columns": [], "values": _floats(1)}]},
    "a potential of half a column": lambda: {**_bits(2), "potentials": [{"columns": [0.5], "values": _floats(2)}]},
    "a potential of too few cells": lambda: {**_bits(2), "potentials": [{"columns": [0, 1], "values": _floats(3)}]},
    "a potential that is no number": lambda: {
        **_bits(1), "potentials": [{"columns": [0], "values": _floats(2, float("nan"))}],
    },
    "a potential beyond all": lambda: {**_bits(1), "potentials": [{"columns": [0], "values": _floats(2, 1e308)}]},
    "a potential in no base": lambda: {**_bits(1), "potentials": [{"columns": [0], "values": "%%%"}]},
    "counts of too few cells": lambda: {
        **_bits(1), "measured": [{"columns": [0], "counts": [1], "mechanism": "DiscreteLaplace", "scale": "1"}],
    },
    "counts that are no whole numbers": lambda: {
        **_bits(1), "measured": [{"columns": [0], "counts": [1, 2.5], "mechanism": "DiscreteLaplace", "scale": "1"}],
    },
    "counts beyond all": lambda: {
        **_bits(1), "measured": [{"columns": [0], "counts": [1, 10**400], "mechanism": "Gaussian", "sigma": "1"}],
    },
    "noise that is none": lambda: {
        **_bits(1), "measured": [{"columns": [0], "counts": [1, 2], "mechanism": "Gaussian", "sigma": "-1"}],
    },
    "noise of a million digits": lambda: {
        **_bits(1), "measured": [{"columns": [0], "counts": [1, 2], "mechanism": "Gaussian", "sigma": "1" * 10**6}],
    },
    "numbers without a grid": lambda: _numbers("float", ("0", "1"), "0", []),
    "numbers on a grid of too many points": lambda: _numbers("float", ("0", "1"), f"1/{10**300}", []),
    "numbers of many digits": lambda: _numbers("int", ("0", "1" + "0" * 3_000), "1", []),
    "numbers between bounds the wrong way round": lambda: _numbers("int", ("9", "0"), "1", []),
    "cells of nothing": lambda: _numbers("int", ("0", "9"), "1", [["3", False], ["3", False]]),
    "cells beyond the bounds": lambda: _numbers("int", ("0", "9"), "1", [["300", False]]),
    "falling cells": lambda: _numbers("int", ("0", "9"), "1", [["5", False], ["3", False]]),
    "more cells than a column has": lambda: _numbers("int", ("0", "99999"), "1", [["1", True] for _ in range(10_001)]),
    "days before the calendar": lambda: _numbers("date", ("-1000000000", "0"), "1", []),
    "texts as numbers": lambda: _numbers("string", ("0", "9"), "1", []),
    "decimals on a grid of thirds": lambda: _numbers("decimal", ("0", "1"), "1/3", []),
    "a certificate that is none": lambda: {**_bits(1), "certificate": 1},
    "another format": lambda: {**_bits(1), "format": 99},
    "a loss that is none": lambda: {**_bits(1), "loss": {"kind": "pure"}},
    "rules that are none": lambda: {**_bits(1), "rules": []},
    "a rule on a column that is not there": lambda: {**_bits(1), "rules": {**NO_RULES, "hard": ["zz > 1"]}},
    "a rule that reads a file": lambda: {**_bits(1), "rules": {**NO_RULES, "hard": ["c0 IN (FROM 'x.csv')"]}},
    "a rule with a sub-query": lambda: {
        **_bits(1), "rules": {**NO_RULES, "hard": ["c0 = (SELECT COUNT(*) FROM range(1000000000))"]}
    },
    "a rule that is never the same": lambda: {**_bits(1), "rules": {**NO_RULES, "hard": ["c0 AND random() > 0.5"]}},
    "a column that follows from none": lambda: _follows(given=["zz"]),
    "a column that follows under a name that is there": lambda: _follows(name="c0"),
    "a column that follows with too few values": lambda: _follows(values=[1]),
    "a column that follows with values of another type": lambda: _follows(values=["a", "b"]),
    "a column that follows as null where it is never": lambda: _follows(values=[None, 1]),
    "rules with a total below nothing": lambda: {**_bits(1), "rules": {**NO_RULES, "totals": [[-1, None]]}},
    "a soft rule of no weight": lambda: {**_bits(1), "rules": {**NO_RULES, "soft": [["c0", "many"]]}},
}  # fmt: skip

NO_RULES: dict[str, Any] = {"hard": [], "soft": [], "follows": [], "totals": []}


def _follows(**changes: Any) -> dict[str, Any]:
    right = {"name": "f", "type": "int", "nullable": False, "place": 1, "given": ["c0"], "values": [3, 4]}
    return {**_bits(1), "rules": {**NO_RULES, "follows": [{**right, **changes}]}}


def _file(fields: dict[str, Any]) -> bytes:
    bare = {"format": 1, "table": "t", "total": 5.0, "loss": {"kind": "pure", "epsilon": "1"}, "certificate": {}}
    return json.dumps({**bare, "rules": NO_RULES, **fields}).encode()


def test_what_the_hostile_files_are_made_from_is_a_table() -> None:
    table = synth.SyntheticTable.from_bytes(_file(_bits(3)))
    assert table.sample(5).num_rows == 5
    assert synth.SyntheticTable.from_bytes(_file(_follows())).sample(5).column_names == ["c0", "f"]
    assert synth.SyntheticTable.from_bytes(_file(_pairs(4))).sample(5).num_columns == 4
    assert synth.SyntheticTable.from_bytes(_file(_numbers("int", ("0", "9"), "1", [["3", False]]))).sample(2).num_rows


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_bounded_time_and_memory(name: str) -> None:
    payload = _file(HOSTILE[name]())
    tracemalloc.start()
    start = time.process_time()
    try:
        with pytest.raises(LedgerError):
            synth.SyntheticTable.from_bytes(payload)
        assert time.process_time() - start < _SECONDS
        assert tracemalloc.get_traced_memory()[1] < _BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\x00",
        b"{}",
        b"[]",
        b"null",
        b"[" * 100_000,
        b'{"format": 1}',
        b'{"format": NaN}',
        b"\xff\xff\xff\xff" * 9,
    ],
)
def test_garbage_is_refused(payload: bytes) -> None:
    with pytest.raises(LedgerError):
        synth.SyntheticTable.from_bytes(payload)


def test_bytes_that_were_changed_give_an_error_of_ours_or_a_table_that_works(rho) -> None:
    """A thousand random changes of one byte, cuts and repeats."""
    dice, payload = random.Random(11), rho.to_bytes()
    for _ in range(300):
        place, other = sorted(dice.sample(range(len(payload)), 2))
        changed = dice.choice([
            payload[:place] + bytes([dice.randrange(256)]) + payload[place + 1 :],
            payload[:place],
            payload[:place] + payload[other:],
            payload[:other] + payload[place:],
        ])  # fmt: skip
        try:
            table = synth.SyntheticTable.from_bytes(changed)
        except LedgerError:
            continue
        assert table.sample(3).num_rows == 3
        assert repr(table)


def test_a_certificate_of_many_steps_is_added_up_in_bounded_time() -> None:
    """Steps without a common denominator: a thousand are followed, more are refused."""
    for count in (900, 30_000):
        steps = [
            {"measured": ["a"], "mechanism": "DiscreteGaussian", "sigma": f"{10**40 + 2 * i + 1}/{10**37}"}
            for i in range(count)
        ]
        certificate = {
            "steps": steps, "currency": "rho", "rows_per_unit": 1, "relation": "add_remove", "measured": "",
            "loss": {"kind": "rho", "rho": "1", "delta": "0"}, "keys": [],
            "fit_loss": {"kind": "rho", "rho": "1", "delta": "0"},
        }  # fmt: skip
        start = time.process_time()
        with pytest.raises(LedgerError, match="certified" if count < 1_000 else "more steps"):
            verify_loss({"kind": "synthetic_table", **certificate})
        assert time.process_time() - start < _SECONDS
