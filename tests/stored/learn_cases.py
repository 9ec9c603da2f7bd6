"""What was learnt when the stored files were made: a model, its evaluation, and a network's weights."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pyarrow as pa
import torch
from safetensors.torch import save

import discreet as dp
from discreet import learn
from discreet.learn._inputs import Input, Inputs
from discreet.learn.correlated import CorrelatedGaussian, Independent, MinimumSeparation
from discreet.learn.training._mechanism import mechanism_to_json
from discreet.learn.training._question import PreparedTraining, Training
from discreet.privacy import to_json

POLICY: dict[str, Any] = {
    "version": "2026-11",
    "budget": {"epsilon": 100, "delta": "1/10"},
    "tables": {
        "visits": {
            "unit": "person",
            "max_rows": 2,
            "columns": {
                "age": {"type": "float", "bounds": [0, 100]},
                "site": {"type": "string", "keys": ["a", "b"]},
                "sick": {"type": "bool"},
            },
        }
    },
}
QUERY = "SELECT age, site, sick FROM visits"
FITTED, JUDGED, TRAINED = dp.approx(2, "1/1000"), dp.pure(1), dp.rho(2)
SETTINGS = {"name": "golden", "steps": 4, "clip": "1", "about": 200}
MECHANISM = CorrelatedGaussian(Independent(), MinimumSeparation(4, 4, 1), 64, bound=32, size=3)


def tables() -> dict[str, pa.Table]:
    """The private rows."""
    numbers = range(400)
    return {
        "visits": pa.table({
            "person": [i // 2 for i in numbers],
            "age": [None if i % 9 == 0 else float(i % 100) for i in numbers],
            "site": [("a", "b", None)[i % 3] for i in numbers],
            "sick": [i % 100 > 40 for i in numbers],
        })
    }  # fmt: skip


def fit(session: dp.Session) -> learn.Model:
    """The model that is stored."""
    return learn.NaiveBayes(spend=FITTED).fit(session.records(QUERY, label="sick")).model_


def judge(session: dp.Session, model: learn.Model) -> Any:
    """Its evaluation."""
    return learn.evaluate(model, session.records(QUERY, label="sick"), JUDGED)


def training() -> PreparedTraining:
    """A training on the same rows, with the settings that it had."""
    with dp.connect(tables(), POLICY) as session:
        records = session.records(QUERY, label="sick")
        prepared: Any = session.prepare(Training(records.plan, records.label, MECHANISM, TRAINED, SETTINGS))
    return prepared


def network() -> learn.Network:
    """A network of few weights, as a training without a ledger would have it."""
    inputs = Inputs((Input("age", None, Fraction(0), Fraction(100)),), Input("sick", (False, True), type="bool"))
    payload = save({"bias": torch.tensor([0.5]), "weight": torch.tensor([[1.0], [-2.0]])})
    bare = learn.Network(inputs, payload, TRAINED, {})
    certificate = {
        "kind": "network",
        "noise": mechanism_to_json(MECHANISM),
        "relation": "add_remove",
        "loss": to_json(TRAINED),
        "answer": bare.digest(),
    }
    return learn.Network(inputs, payload, TRAINED, certificate)


def seen(release: Any) -> dict[str, Any]:
    """What anyone sees of a release."""
    return json.loads(json.dumps({"digest": release.digest(), **release.to_dict(), "shown": release.cells()}))


def asked(prepared: Any) -> dict[str, Any]:
    """What the hash of a question covers, the hash, and what a certificate says of it."""
    return json.loads(json.dumps({"hash": prepared.hash, "public": prepared.public, "stated": prepared.stated}))
