"""The page of mechanisms: complete, up to date, and true to the classes."""

from __future__ import annotations

import inspect
import re
import statistics
from pathlib import Path

import pytest

import discreet as dp
from discreet import mechanisms
from discreet.explain import catalogue
from discreet.explain._pages import _paragraphs
from discreet.mechanisms.examples import examples
from discreet.sensitivity import Mode

ROOT = Path(__file__).parents[2]

PARTS = {"CountStream", "Mechanism", "Proportions", "ThresholdStream"}
"""What is exported beside the mechanisms: protocols, and what they give back."""


def exported() -> set[str]:
    return {name for name in mechanisms.__all__ if inspect.isclass(getattr(mechanisms, name))} - PARTS


def test_every_mechanism_is_in_it() -> None:
    names = [example.name for example in examples()]
    assert sorted(names) == sorted(exported())


def test_the_page_is_up_to_date() -> None:
    page = (ROOT / "docs" / "mechanisms.md").read_text(encoding="utf-8")
    assert page == catalogue(), "run `make figures`"


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_the_example_is_what_is_shown(example) -> None:
    names = {**{name: getattr(mechanisms, name) for name in mechanisms.__all__}, "dp": dp, "Mode": Mode}
    assert eval(example.shown, names) == example.mechanism
    assert isinstance(example.mechanism, example.kind)
    for setting in example.settings:
        assert eval(setting.shown, {**names, "fmean": statistics.fmean}) == setting.mechanism


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_every_mechanism_says_what_it_is_and_has_its_proof(example) -> None:
    *told, source = _paragraphs(example.kind)
    assert told and len(told[0]) > 30
    notes = re.findall(r"\]\(\.\./proofs/(\w+\.md)\)", source)
    assert notes and all((ROOT / "proofs" / note).exists() for note in notes)
