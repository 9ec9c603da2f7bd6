"""Every scheme has an example; whatever is true of all schemes is tried on each."""

from __future__ import annotations

import inspect
from fractions import Fraction

import pytest

import discreet as dp
from discreet import local
from discreet.local.examples import Example, examples

EVERY = pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)


def test_every_scheme_has_one() -> None:
    public = {name: getattr(local, name) for name in local.__all__}
    schemes = {name for name, each in public.items() if inspect.isclass(each) and issubclass(each, local.Scheme)}
    assert sorted(example.name for example in examples()) == sorted(schemes - {"Scheme"})


@EVERY
def test_what_is_shown_makes_it(example: Example) -> None:
    names = {name: getattr(local, name) for name in local.__all__}
    assert isinstance(example.at(1), example.kind)
    assert eval(example.shown, names) == example.at(1)


@EVERY
@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_a_report_costs_no_more_than_was_asked_for(example: Example, epsilon: str) -> None:
    scheme = example.at(epsilon)
    assert scheme.loss.fits(dp.pure(epsilon))
    assert scheme.loss.epsilon() > 0.3 * float(Fraction(epsilon))


@EVERY
def test_documents_reports_and_states_are_read_back(example: Example) -> None:
    scheme = example.at(1)
    again = local.from_json(scheme.to_json())
    assert again == scheme and again.fingerprint == scheme.fingerprint
    batches = [scheme.simulate(example.alike(value, 20)) for value in example.pair]
    for batch in batches:
        assert local.Reports.from_bytes(bytes(batch)) == batch == local.Reports.from_json(batch.to_json())
    together = scheme.server().add(local.Reports.together(batches))
    one, other = (scheme.server().add(batch) for batch in batches)
    assert bytes(one + other) == bytes(together) == bytes(again.server(bytes(together)))
    assert (together.reports, together.rejected) == (40, 0)


@EVERY
def test_what_is_remembered_is_reported_again(example: Example) -> None:
    document = example.at(1).to_json().replace('"longitudinal": "once"', '"longitudinal": "memoize"')
    scheme = local.from_json(document)
    values = example.alike(example.pair[0], 1)
    device, another = (scheme.client(secret=bytes([number]) * 16) for number in (1, 2))
    if example.kind is not local.Rappor:  # whose second stage is drawn afresh
        assert device.encode(values) == device.encode(values)
    with pytest.raises(dp.ParameterError, match="secret"):
        scheme.client()
    assert len(another.encode(values)) == 1


@EVERY
def test_both_values_make_reports_that_the_same_server_reads(example: Example) -> None:
    for value in example.pair:
        assert len(example.reports(value, 50)) == 50
