"""One front for the side channels of a mechanism: digits, repeats, copied state, time, and bad numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable
from typing import Any, cast

from discreet.audit._bad_numbers import bad_numbers
from discreet.audit._claim import claim_of
from discreet.audit._clock import clock
from discreet.audit._copies import copies, named
from discreet.audit._digits import digits
from discreet.audit._finding import Finding, Findings
from discreet.audit._low_digits import low_digits
from discreet.audit._moves import moves
from discreet.audit._outputs import drawn, text_of
from discreet.audit._repeats import repeats
from discreet.audit._subject import subject
from discreet.errors import ParameterError
from discreet.privacy import Loss
from discreet.rational import Number

__all__ = ["PROBES", "probe"]

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

    Made-up data are probed, so it costs no privacy. What is found is certified or a fact; other leaks may be there.

    Parameters
    ----------
    mechanism
        Any function data → output; an object with `release(data)` or `draw(data, size)`; or its name as text,
        ``"module:function"``, which fresh interpreters can load as well. An exception is an output too.
    pair
        Two neighbouring data sets.
    claim
        The loss that one call is said to have on such neighbours. Without it, bounds on ε are told as warnings, and
        what needs no claim is flagged: noise that is used twice, times, errors.
    delta
        Where to tell ε, if the claim leaves it open.
    samples
        Outputs over both inputs for digits and repeats, from 400. Other probes take some thousand calls of their own at
        most: of repeats by input 4,000, of the clock 3,000.
    spoil
        Data → neighbouring data sets with something odd in them: outputs on those are held to the claim. Without it,
        the first entry of lists, tuples, arrays and dictionaries is replaced by NaN, infinities, None, 2**70, 10**400,
        a subnormal, −0.0 and a text, and it is only looked at how they are taken, since an entry may be no person's.
    probes
        Which of `PROBES` to run.

    Raises `ParameterError` for arguments out of their ranges.

    >>> from discreet.mechanisms import DiscreteLaplace
    >>> from discreet.privacy import pure
    >>> found = probe(DiscreteLaplace(1), (0, 1), claim=pure(1), samples=4_000, probes=["digits", "bad numbers"])
    >>> found.violated, found["grid"].sentence
    (False, 'output is always a multiple of 1.')
    """
    _check(pair, samples, probes)
    name = mechanism if isinstance(mechanism, str) else None
    audited = mechanism if name is None else named(name)
    asked = subject(audited)
    claimed = None if claim is None else claim_of(claim, delta)
    found: list[Finding] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of odd data are kept apart, and told
        outputs = drawn(asked, pair, samples // 2)
        if "digits" in probes:
            found += digits(outputs.columns, claimed) + low_digits(outputs.columns, claimed)
        if "repeats" in probes:
            found += repeats(asked, pair, outputs, claimed)
        if "copies" in probes:
            found += copies(audited, pair[0], [text_of(each) for each in outputs.first], name)
        if "clock" in probes:
            found += clock(asked, pair, min(_CALLS, samples // 2))
        if "bad numbers" in probes:
            found += bad_numbers(asked, pair, claimed, outputs.first)
            if spoil is not None:
                found += moves(asked, pair[0], spoil, claimed, samples // 2)
    return Findings(tuple(found))


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
