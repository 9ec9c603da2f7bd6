"""What a mechanism does with NaN, infinities, None, huge and tiny numbers, and text in the data.

It may refuse them, in words that do not depend on the rest of the data, or treat them as ordinary values.
Sources: Casacuberta, Shoemate, Vadhan and Wagaman 2022, "Widespread underestimation of sensitivity in differentially
private libraries and how to fix it", for overflow and infinities; Kifer et al. 2020, section 5, for errors.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from discreet.audit.black_box._claim import Claim, at_least, at_most, epsilon_shown
from discreet.audit.black_box._subject import Draws, numbers_in, text_of
from discreet.audit.probes._distinguisher import ALARM, Cells, distinguish, flagged
from discreet.audit.probes._finding import Finding, unmeasured
from discreet.errors import ParameterError
from discreet.privacy import Loss

__all__ = ["BAD", "CANARIES", "CRASHES", "NOT_FINITE", "ONE_SIDED", "WORDS", "bad_numbers", "kind_of", "with_bad_input"]


BAD: dict[str, Any] = {
    "NaN": math.nan,
    "infinity": math.inf,
    "minus infinity": -math.inf,
    "None": None,
    "2**70": 2**70,
    "10**400": 10**400,
    "a subnormal": 5e-324,
    "minus zero": -0.0,
    "a text": "a word-64207",
}
"""What is put in, by name."""

CANARIES = {"2**70": 2**70 + 64_207, "10**400": 10**400 + 64_207, "a text": "a word-91813"}
"""Another value of the same kind: if the error messages for the two differ, they quote the data."""


def with_bad_input(data: Any, name: str, *, other: bool = False) -> Any:
    """A copy of the data with its first entry replaced; `other` takes another value of the same kind.

    Raises `TypeError` or `ValueError` where the data have no place for the value.

    >>> with_bad_input([1, [2, 3]], "None"), with_bad_input(5, "minus zero"), with_bad_input((1, 2), "infinity")
    ([None, [2, 3]], -0.0, (inf, 2))
    """
    value = CANARIES.get(name, BAD[name]) if other else BAD[name]
    return _replaced(data, value)


def _replaced(data: Any, value: Any) -> Any:
    if isinstance(data, np.ndarray):
        return _in_array(cast("np.ndarray[Any, Any]", data), value)
    if isinstance(data, list | tuple):
        entries = cast("list[Any] | tuple[Any, ...]", data)
        if not entries:
            raise ValueError("there is no entry to replace")
        changed = [_replaced(entries[0], value), *entries[1:]]
        return changed if isinstance(entries, list) else tuple(changed)
    if isinstance(data, dict):
        known = cast("dict[Any, Any]", data)
        if not known:
            raise ValueError("there is no entry to replace")
        first = next(iter(known))
        return {**known, first: _replaced(known[first], value)}
    if isinstance(data, int | float | str | np.generic) or data is None:
        return value
    raise TypeError(f"no entry of {type(data).__name__} is known; give `spoil`")


def _in_array(data: np.ndarray[Any, Any], value: Any) -> np.ndarray[Any, Any]:
    if not data.size:
        raise ValueError("there is no entry to replace")
    changed = data.astype(np.float64) if isinstance(value, float) and data.dtype.kind in "biu" else data.copy()
    try:
        changed.flat[0] = value
    except OverflowError as error:
        raise ValueError("the array has no place for so large a number") from error
    return changed


NOT_FINITE, CRASHES, WORDS, ONE_SIDED = (
    "NaN or infinity released",
    "arithmetic that fails",
    "words of refusals",
    "refused on one input only",
)
_CALLS, _SURE = 12, 256
_NO_CLAIM = 3.0
"""Without a claim, the largest ε that two changes are taken to be allowed."""


@dataclass(frozen=True, slots=True)
class _Tried:
    """Outcomes of calls on data with one bad entry: the kind of each, the words of errors, and the warnings."""

    kinds: tuple[str, ...]
    words: frozenset[str]
    errors: tuple[type[BaseException], ...]
    warned: frozenset[str]

    @property
    def always(self) -> str | None:
        """The outcome of every call, if all are the same."""
        return self.kinds[0] if len(set(self.kinds)) == 1 else None

    @property
    def outcome(self) -> str:
        """The outcome in a word."""
        kind = self.always or "mixed"
        return f"{kind}: {self.errors[0].__name__}" if self.errors and kind == "refused" else kind


def bad_numbers(mechanism: Draws, pair: tuple[Any, Any], claim: Claim | None, clean: Sequence[Any]) -> list[Finding]:
    """Four findings about one bad entry. `clean`: outputs on the unchanged data, to see whether those are finite."""
    tried: dict[str, tuple[_Tried, _Tried]] = {}
    for name in BAD:
        try:
            first, second = (with_bad_input(data, name) for data in pair)
        except (TypeError, ValueError):
            continue
        tried[name] = _tried(mechanism, first, _CALLS), _tried(mechanism, second, _CALLS)
    if not tried:
        why = "nothing is known of how to put a bad number into such data; give `spoil`."
        return [unmeasured(each, why) for each in (NOT_FINITE, CRASHES, WORDS, ONE_SIDED)]
    outcomes = {name: [each.outcome for each in both] for name, both in tried.items()}
    return [
        _not_finite(mechanism, pair[0], tried, claim, clean, outcomes),
        _crashes(tried, outcomes),
        _words(mechanism, pair[0], tried),
        _one_sided(mechanism, pair, tried, claim),
    ]


def _tried(mechanism: Draws, data: Any, calls: int) -> _Tried:
    kinds: list[str] = []
    words: set[str] = set()
    errors: list[type[BaseException]] = []
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        for _ in range(calls):
            try:
                output = mechanism.draw(data, 1)[0]
            except Exception as error:  # noqa: BLE001 (whatever an analyst would see)
                output = error
            if isinstance(output, BaseException):
                words.add(text_of(output))
                errors.append(type(output))
            kinds.append(kind_of(output))
    warned = frozenset(f"{each.category.__name__}: {each.message}" for each in heard)
    return _Tried(tuple(kinds), frozenset(words), tuple(errors), warned)


def kind_of(output: object) -> str:
    """The outcome of a call in a word: refused, answered, or not finite."""
    if isinstance(output, BaseException):
        return "refused"
    numbers = [column[0] for column in numbers_in([output]).values()]
    return "answered" if all(map(_finite, numbers)) else "not finite"


def _finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond floats
        return True
    except TypeError:
        return True


def _not_finite(  # noqa: PLR0913, PLR0917 (what was tried, and what it is held against)
    mechanism: Draws,
    data: Any,
    tried: dict[str, tuple[_Tried, _Tried]],
    claim: Claim | None,
    clean: Sequence[Any],
    outcomes: dict[str, list[str]],
) -> Finding:
    """Whether every call on bad data gives NaN or infinity; tested for two changes, since an entry is replaced."""
    bad = [name for name, both in tried.items() if both[0].always == "not finite"]
    numbers: dict[str, Any] = {"outcomes": outcomes}
    unclean = sum(kind_of(each) == "not finite" for each in clean)
    if not bad:
        fine = "No NaN and no infinity comes out, whatever goes in."
        return Finding(NOT_FINITE, violated=False, sentence=fine, false_alarm=ALARM, numbers=numbers)
    kinds = _tried(mechanism, with_bad_input(data, bad[0]), _SURE).kinds
    p = float(at_least(kinds.count("not finite"), len(kinds), ALARM / 2))
    q = float(at_most(unclean, len(clean), ALARM / 2))
    numbers |= {"likelier": p, "rarer": q, "epsilon_lower": float(epsilon_shown(p, q))}
    shown = _refuted_twice(claim.loss, p, q) if claim else float(epsilon_shown(p, q)) > _NO_CLAIM
    sentence = f"With {', '.join(bad)} as one entry the output is NaN or infinite in {kinds.count('not finite')} of "
    sentence += (
        f"{len(kinds)} calls, and without in {unclean} of {len(clean):,}: no noise hides it. Refuse such data in words "
    )
    sentence += "that do not depend on them, or replace what is not finite by a public number first."
    return Finding(
        NOT_FINITE,
        violated=shown,
        sentence=sentence,
        false_alarm=ALARM if shown else 0.0,
        numbers=numbers,
        warning=not shown,
    )


def _refuted_twice(loss: Loss, p: float, q: float) -> bool:
    """Whether the loss of two changes rules out probability p or more on one input, q or less on the other."""
    try:
        return 1 - p < loss.group(2).tradeoff(q) - 1e-11
    except ParameterError:  # no bound for two changes is known
        return False


def _crashes(tried: dict[str, tuple[_Tried, _Tried]], outcomes: dict[str, list[str]]) -> Finding:
    """Errors of arithmetic, which no one raised on purpose, and numeric warnings."""
    failed = {
        name: next(error.__name__ for each in both for error in each.errors if issubclass(error, ArithmeticError))
        for name, both in tried.items()
        if any(issubclass(error, ArithmeticError) for each in both for error in each.errors)
    }
    warned = {name: sorted(both[0].warned | both[1].warned) for name, both in tried.items()}
    numbers = {"outcomes": outcomes, "warnings": {name: messages for name, messages in warned.items() if messages}}
    if failed:
        which = ", ".join(f"{error} with {name}" for name, error in failed.items())
        sentence = (
            f"One entry makes the release fail: {which}. The failure is an answer that has no noise. Clamp, or refuse "
        )
        sentence += "by type and public bounds before anything is computed."
        return Finding(CRASHES, violated=True, sentence=sentence, numbers=numbers)
    loud = [name for name, messages in warned.items() if any("RuntimeWarning" in each for each in messages)]
    if loud:
        sentence = f"A warning of arithmetic appears with {', '.join(loud)} in the data: logs then reveal the entry. "
        sentence += "Clamp, or refuse, before anything is computed."
        return Finding(CRASHES, violated=False, sentence=sentence, numbers=numbers, warning=True)
    return Finding(CRASHES, violated=False, sentence="No arithmetic fails on odd data.", numbers=numbers)


def _words(mechanism: Draws, data: Any, tried: dict[str, tuple[_Tried, _Tried]]) -> Finding:
    """Whether error messages depend on the data. A fact, since each message came in every call."""
    for name, both in tried.items():
        if any(each.always != "refused" or len(each.words) != 1 for each in both):
            continue
        (first,), (second,) = (each.words for each in both)
        quoted = _tried(mechanism, with_bad_input(data, name, other=True), _CALLS) if name in CANARIES else both[0]
        if first == second and (quoted.words == both[0].words or quoted.always != "refused"):
            continue
        other = second if first != second else next(iter(quoted.words))
        sentence = f"With {name} as an entry the refusal depends on the data: {_short(first)!r} or {_short(other)!r}. "
        sentence += "Say what is allowed, and never what was found."
        return Finding(WORDS, violated=True, sentence=sentence, numbers={"entry": name, "words": [first, other]})
    refused = [name for name, both in tried.items() if all(each.always == "refused" for each in both)]
    sentence = "Nothing was refused."
    if refused:
        sentence = f"Refused in the same words on both inputs: {', '.join(refused)}. Whether data are refused is not "
        sentence += "hidden by noise, so check them before they count as private data."
    return Finding(WORDS, violated=False, sentence=sentence, numbers={"refused": refused})


def _one_sided(
    mechanism: Draws, pair: tuple[Any, Any], tried: dict[str, tuple[_Tried, _Tried]], claim: Claim | None
) -> Finding:
    """Whether the same bad entry is refused, or answered with NaN, on one input and not on its neighbour."""
    differs = [name for name, both in tried.items() if set(both[0].kinds) != set(both[1].kinds)]
    if not differs:
        sentence = "What is refused on one input is refused on the other."
        return Finding(ONE_SIDED, violated=False, sentence=sentence, false_alarm=ALARM)
    cells: dict[str, Cells] = {}
    for name in differs:
        first, second = (_tried(mechanism, with_bad_input(data, name), 4 * _SURE).kinds for data in pair)
        cells[f"what came of {name} as an entry"] = first, second
    leak = "Refuse by type and public bounds, whatever else is in the data."
    fine = "What is refused on one input is refused about as often on the other."
    return flagged(ONE_SIDED, distinguish(cells, claim), claim, leak=leak, fine=fine)


def _short(text: str) -> str:
    return text if len(text) <= 160 else text[:157] + "…"
