"""Entry point of the probes for side channels: digits, repeats, copied state, time, and bad numbers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Any, cast

import numpy as np

from discreet.audit.black_box._claim import Claim, claim_of
from discreet.audit.black_box._subject import Draws, drawn, draws, numbers_in, subject, text_of
from discreet.audit.probes._bad_numbers import bad_numbers, kind_of
from discreet.audit.probes._clock import clock
from discreet.audit.probes._copied_rng_state import copied_rng_state, named
from discreet.audit.probes._digits import digits, low_digits
from discreet.audit.probes._distinguisher import Cells, distinguish, flagged
from discreet.audit.probes._finding import Finding, Findings, unmeasured
from discreet.audit.probes._repeats import repeats
from discreet.errors import ParameterError
from discreet.privacy import Loss
from discreet.rational import Number

__all__ = ["CUSTOM_NEIGHBOURS", "PROBES", "custom_neighbours", "probe"]


CUSTOM_NEIGHBOURS = "outputs on spoilt data"

Spoil = Callable[[Any], Iterable[Any]]


def custom_neighbours(mechanism: Draws, data: Any, spoil: Spoil, claim: Claim | None, size: int) -> list[Finding]:
    """Test the claim between the data and each neighbour that `spoil` makes of them."""
    findings: list[Finding] = []
    clean = draws(mechanism, data, size)
    for place, neighbour in enumerate(spoil(data), 1):
        outputs = draws(mechanism, neighbour, size)
        distinguisher = distinguish(_ranges(clean, outputs), claim)
        leak = "Clamp each record to public bounds, and NaN to one of them, before anything is computed."
        fine = "Outputs move no more than claimed."
        findings.append(flagged(f"{CUSTOM_NEIGHBOURS} {place}", distinguisher, claim, leak=leak, fine=fine))
    return findings or [unmeasured(CUSTOM_NEIGHBOURS, "`spoil` made no data.")]


def _ranges(clean: Sequence[Any], outputs: Sequence[Any]) -> dict[str, Cells]:
    """The outcome of each call, and which of 32 ranges each number is in, taken from the clean data."""
    properties: dict[str, Cells] = {
        "what came of a call": ([_came(each) for each in clean], [_came(each) for each in outputs])
    }
    first, second = numbers_in(clean), numbers_in(outputs)
    for name in first.keys() & second.keys():
        worlds = [np.array([_as_float(each) for each in world]) for world in (first[name], second[name])]
        learned = worlds[0][: len(clean) // 4]
        learned = learned[np.isfinite(learned)]
        if learned.size:
            edges = np.unique(np.quantile(learned, np.linspace(0, 1, 33)))
            cells: list[Sequence[Hashable]] = [np.searchsorted(edges, world).tolist() for world in worlds]
            properties[f"the range of {name}, of {edges.size + 1},"] = cells[0], cells[1]
    return properties


def _came(output: object) -> str:
    return text_of(output) if isinstance(output, BaseException) else kind_of(output)


def _as_float(value: Any) -> float:
    if value is None:
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return math.nan


PROBES = ("digits", "repeats", "copies", "clock", "bad numbers")
_LEAST, _MOST = 400, 10**7
_CALLS = 1_500


def probe(  # noqa: PLR0913 (all but the first two by keyword)
    mechanism: Any,
    pair: tuple[Any, Any],
    *,
    claim: Loss | None = None,
    delta: Number | None = None,
    samples: int = 10_000,
    spoil: Callable[[Any], Iterable[Any]] | None = None,
    probes: Collection[str] = PROBES,
) -> Findings:
    """Look for leaks that no calculation of a loss shows: by floating point, reused noise, copied state, time, errors.

    Made-up data are probed, so it costs no privacy. A violation is certified or a fact; there may be other leaks.

    Parameters
    ----------
    mechanism
        Any function data → output; an object with `release(data)` or `draw(data, size)`; or its name as text,
        ``"module:function"``, which fresh interpreters can load as well. An exception is an output too.
    pair
        Two neighbouring data sets.
    claim
        The loss that one call is said to have on such neighbours. Without it, bounds on ε are reported as warnings, and
        what needs no claim is flagged: noise that is used twice, times, errors.
    delta
        The δ at which ε is stated, if the claim leaves it open.
    samples
        Outputs over both inputs for digits and repeats, from 400. Other probes take some thousand calls of their own at
        most: of repeats by input 4,000, of the clock 3,000.
    spoil
        Data → neighbouring data sets with something odd in them: outputs on those are held to the claim. Without it,
        the first entry of lists, tuples, arrays and dictionaries is replaced by NaN, infinities, None, 2**70, 10**400,
        a subnormal, −0.0 and a text, and only how they are handled is checked, since an entry may be no person's.
    probes
        Which of `PROBES` to run.

    Raises `ParameterError` for arguments out of their ranges.

    >>> from discreet.mechanisms import DiscreteLaplace
    >>> from discreet.privacy import pure
    >>> findings = probe(DiscreteLaplace(1), (0, 1), claim=pure(1), samples=4_000, probes=["digits", "bad numbers"])
    >>> findings.violated, findings["grid"].sentence
    (False, 'output is always a multiple of 1.')
    """
    _check(pair, samples, probes)
    name = mechanism if isinstance(mechanism, str) else None
    audited = mechanism if name is None else named(name)
    asked = subject(audited)
    claimed = None if claim is None else claim_of(claim, delta)
    findings: list[Finding] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of odd data are recorded and reported apart
        outputs = drawn(asked, pair, samples // 2)
        if "digits" in probes:
            findings += digits(outputs.columns, claimed) + low_digits(outputs.columns, claimed)
        if "repeats" in probes:
            findings += repeats(asked, pair, outputs, claimed)
        if "copies" in probes:
            findings += copied_rng_state(audited, pair[0], [text_of(each) for each in outputs.first], name)
        if "clock" in probes:
            findings += clock(asked, pair, min(_CALLS, samples // 2))
        if "bad numbers" in probes:
            findings += bad_numbers(asked, pair, claimed, outputs.first)
            if spoil is not None:
                findings += custom_neighbours(asked, pair[0], spoil, claimed, samples // 2)
    return Findings(tuple(findings))


def _check(pair: object, samples: object, probes: object) -> None:
    if not isinstance(pair, tuple | list) or len(cast("tuple[Any, ...]", pair)) != 2:
        raise ParameterError("pair must be two neighbouring data sets, (data0, data1)")
    if isinstance(samples, bool) or not isinstance(samples, int) or not _LEAST <= samples <= _MOST:
        raise ParameterError(f"samples must be a whole number from {_LEAST} to {_MOST:,}, got {samples!r}")
    if (
        isinstance(probes, str)
        or not isinstance(probes, Collection)
        or not set(cast("Collection[Any]", probes)) <= {*PROBES}
    ):
        raise ParameterError(f"probes must be some of {', '.join(map(repr, PROBES))}, got {probes!r}")
