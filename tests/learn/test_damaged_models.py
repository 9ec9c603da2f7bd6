"""Models and evaluations in files that anybody may have spoilt: house errors alone, and no code is run."""

from __future__ import annotations

import contextlib
import json
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from damage import damaged_bytes, damaged_json, damaged_numbers, watched, written
from learners import inputs_for, some_examples

import discreet as dp
from discreet import learn
from discreet.errors import DiscreetError, LedgerError
from discreet.learn._fit import fit_examples
from discreet.learn.algorithms import ALGORITHMS
from discreet.ledger import verify_release
from discreet.release import load, parse_release_file

DAILY = 25
SOAK = 1_200
"""Of each algorithm, of which there are nine: more than 10,000."""
ROWS = [[30.0, 5.0, "a"], [float("nan"), 1e300, None], [None, -1, "z"]]


def model_file(name: str) -> dict[str, Any]:
    """A model by an algorithm as it is in a file."""
    algorithm = ALGORITHMS[name]()
    examples = some_examples(inputs_for(algorithm), random.Random(1), 60)
    return fit_examples(examples, algorithm, dp.approx(5, "1e-6")).to_dict()


def damaged(content: dict[str, Any], dice: random.Random) -> bytes:
    """A file with something wrong in it."""
    match dice.randrange(4):
        case 0:
            return damaged_bytes(json.dumps(content).encode(), dice)
        case 1:
            changed = json.loads(json.dumps(content))
            array = changed["parameters"][dice.choice(list(changed["parameters"]))]
            array["data"] = damaged_numbers(array["data"], dice)
            return written(changed)
        case 2:  # the certificate is long, and checked elsewhere: the rest is met more often without it
            part = {name: value for name, value in content.items() if name != "certificate"}
            return written({**content, **damaged_json(part, dice)})
        case _:
            return written(damaged_json(content, dice))


def use(payload: bytes, path: Path) -> bool:
    """Do with a file all that one does with a model. Whether it was read."""
    try:
        loaded = learn.Model.from_bytes(payload)
    except LedgerError:
        return False
    for each in (
        lambda: loaded.outputs([row[: len(loaded.inputs.features)] for row in ROWS]),
        lambda: loaded.predict([row[: len(loaded.inputs.features)] for row in ROWS]),
        lambda: repr(loaded),
        loaded.to_bytes,
        loaded._repr_html_,
        loaded.to_vega_lite,
        lambda: loaded.to_vega_lite("spend"),
        loaded.outline,
    ):
        _house(each)
    path.write_bytes(payload)
    _house(lambda: load(path))
    _house(lambda: list(verify_release(parse_release_file(payload))))
    return True


def _house(ask: Callable[[], Any]) -> None:
    """Ask; an error is one of the house."""
    with contextlib.suppress(DiscreetError):
        ask()


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
@pytest.mark.parametrize("times", [DAILY, pytest.param(SOAK, marks=pytest.mark.soak)])
def test_damaged_models_end_in_house_errors_and_run_nothing(name: str, times: int, tmp_path: Path) -> None:
    content, dice, path = model_file(name), random.Random(times), tmp_path / "bad.model"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # numbers of 1e308 overflow, which is no harm
        assert use(json.dumps(content).encode(), path)  # what is imported when first used is imported here
        read = 0
        with watched() as events:
            for _ in range(times):
                read += use(damaged(content, dice), path)
    assert not events, events[:3]
    assert 0 < read < times


@pytest.mark.parametrize("times", [DAILY, pytest.param(SOAK, marks=pytest.mark.soak)])
def test_damaged_evaluations_too(times: int) -> None:
    target = inputs_for(ALGORITHMS["naive_bayes"]()).target
    assert target is not None
    noise = dp.mechanisms.DiscreteLaplace(scale=9)
    whole = learn.Evaluation("0" * 64, target, tuple(range(9)), noise, dp.pure(1), {"kind": "evaluation"})
    content, dice, read = json.loads(whole.to_bytes()), random.Random(times), 0
    with watched() as events:
        for _ in range(times):
            changed = damaged_json(content, dice)
            payload = written(changed) if dice.random() < 0.7 else damaged_bytes(whole.to_bytes(), dice)
            try:
                loaded = learn.Evaluation.from_bytes(payload)
            except LedgerError:
                continue
            read += 1
            _house(lambda loaded=loaded: repr(loaded))
            _house(lambda loaded=loaded: loaded.to_dict(0.9))
            _house(lambda loaded=loaded: loaded.confusion)
    assert not events, events[:3]
    assert 0 < read < times
