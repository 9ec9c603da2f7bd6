"""NaN that is released, arithmetic that fails and words that quote the data are found.

Facts have no false alarm; the others have 1e-10.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.audit.black_box._claim import claim_of
from discreet.audit.black_box._subject import draws, subject
from discreet.audit.probes import _bad_numbers as b
from discreet.audit.probes._bad_numbers import BAD, with_bad_input
from discreet.mechanisms import DiscreteLaplace

NOISE = DiscreteLaplace(1)
ONE = dp.pure(1)
PAIR = ([0.25, 0.5, 1.0], [0.25, 0.5, 0.0])


def found(mechanism: Any, pair: Any = PAIR, claim: Any = ONE) -> dict[str, str]:
    asked = subject(mechanism)
    claimed = None if claim is None else claim_of(claim, None)
    each = b.bad_numbers(asked, pair, claimed, draws(asked, pair[0], 2_000))
    assert all(one.false_alarm <= 1e-9 for one in each)
    return {one.name: one.mark for one in each}


FINE = dict.fromkeys((b.NOT_FINITE, b.CRASHES, b.WORDS, b.ONE_SIDED), "fine")


def number(x: object) -> float:
    return float(x) if isinstance(x, int | float) and not abs(x) > 2**60 else 0.5


def careful(x: list[Any]) -> int:
    """Clamps in steps of 1/1000, and NaN to the middle."""
    return NOISE.release(sum(round(1000 * min(max(y, 0), 1)) for y in map(number, x) if y == y))


def test_clamping_everything_is_fine() -> None:
    assert found(careful) == found(careful, claim=None) == FINE


def test_refusing_everything_in_the_same_words_is_fine() -> None:
    def refusing(x: list[Any]) -> int:
        if not all(isinstance(y, int | float) and 0 <= y <= 1 for y in x):
            raise dp.ParameterError("entries must be from 0 to 1")
        return careful(x)

    assert found(refusing) == FINE


@pytest.mark.parametrize("claim", [None, dp.pure(1), dp.approx(1, "1e-6"), dp.mu(1)], ids=str)
def test_nan_that_passes_a_clamp_is_a_leak(claim: Any) -> None:
    def poisoned(x: list[Any]) -> float:
        return float(np.clip(np.array([number(y) for y in x]), 0, 1).sum()) + NOISE.release(0)

    told = found(poisoned, claim=claim)
    assert told[b.NOT_FINITE] == "LEAK"
    assert told[b.CRASHES] == "fine"


def test_with_a_claim_that_allows_almost_anything_it_is_a_warning() -> None:
    assert found(lambda x: sum(map(number, x)) + NOISE.release(0), claim=dp.pure(50))[b.NOT_FINITE] == "look"


def test_arithmetic_that_fails_is_a_leak() -> None:
    told = found(lambda x: NOISE.release(int(sum(y for y in x if isinstance(y, int | float)))))
    assert told[b.CRASHES] == "LEAK"  # OverflowError: cannot convert float infinity to integer
    assert found(lambda x: 1.0 / sum(y == y for y in x[:1]), claim=None)[b.CRASHES] == "LEAK"


def test_a_warning_of_arithmetic_deserves_a_look() -> None:
    def loud(x: list[Any]) -> int:
        np.float64(1) - np.inf * np.array([number(y) for y in x if y == y and abs(number(y)) != math.inf])
        return careful(x)

    assert found(loud)[b.CRASHES] == "look"


def quoting(x: list[Any]) -> int:
    for y in x:
        if isinstance(y, str):
            raise dp.ParameterError(f"{y!r} is no number")
    return careful(x)


def quoting_another(x: list[Any]) -> int:
    if any(y is None for y in x):
        raise ValueError(f"a value is missing after {x[2]}")
    return careful(x)


def counting(x: list[Any]) -> int:
    bad = sum(y != y for y in x)
    if bad:
        raise ValueError(f"{bad} of {sum(1 for y in x if y)} entries are NaN")
    return careful(x)


@pytest.mark.parametrize("mechanism", [quoting, quoting_another, counting])
def test_words_that_quote_the_data_are_a_leak(mechanism: Callable[[Any], Any]) -> None:
    assert found(mechanism) == {**FINE, b.WORDS: "LEAK"}


def test_addresses_in_words_are_no_quotes() -> None:
    def refusing(x: list[Any]) -> int:
        if any(y is None for y in x):
            raise ValueError(f"{object()} is not allowed")
        return careful(x)

    assert found(refusing) == FINE


def test_refusals_on_one_input_only_are_a_leak() -> None:
    """A missing entry is refused unless there is a 1."""

    def refusing(x: list[Any]) -> int:
        if None in x and 1.0 not in x:
            raise ValueError("entries are missing")
        return careful(x)

    assert found(refusing) == {**FINE, b.ONE_SIDED: "LEAK"}
    assert found(refusing, claim=None)[b.ONE_SIDED] == "look"


def test_refusals_at_random_are_let_pass_within_the_claim() -> None:
    def refusing(x: list[Any]) -> int:
        if None in x and NOISE.release(0) > 0:
            raise ValueError("entries are missing")
        return careful(x)

    assert found(refusing) == FINE


def test_data_without_a_place_for_them_are_not_judged() -> None:
    assert set(found(lambda _: 1, pair=([], [])).values()) == {"n/a"}
    assert set(found(lambda _: 1, pair=({1}, {2})).values()) == {"n/a"}


@pytest.mark.parametrize("data", [5, 0.5, "a", None, [1], (1, 2), {"a": [1]}, np.arange(3), np.arange(3.0)], ids=str)
def test_data_are_copied_and_never_changed(data: Any) -> None:
    before = repr(data)
    changed = []
    for name in BAD:
        try:
            changed.append(repr(with_bad_input(data, name)))
        except (TypeError, ValueError):
            assert isinstance(data, np.ndarray)
    assert repr(data) == before
    assert len(set(changed)) >= 5
    assert all(each != before for each in changed) or data is None
