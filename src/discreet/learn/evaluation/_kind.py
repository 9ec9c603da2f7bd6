"""The kind of release that an evaluation is, and its loss from its certificate alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.learn._inputs import Input, Inputs
from discreet.learn.evaluation._question import evaluation_norms
from discreet.learn.evaluation._release import Evaluation
from discreet.prices import additive_from_json
from discreet.privacy import Loss, in_currency
from discreet.release import ReleaseKind, check_within, refuse_malformed, register, stated_in, stated_neighbours

__all__ = ["EVALUATION_KIND"]


@refuse_malformed("evaluation")
def _recompute(certificate: Mapping[str, Any]) -> Loss:
    (rows, relation), unit = stated_neighbours(certificate), certificate["currency"]
    if unit not in ("pure", "rho", "mu"):
        raise ValueError
    norms = evaluation_norms(Inputs((), Input.from_json(certificate["target"]))).of_unit(rows, relation)
    return in_currency(additive_from_json(certificate["noise"]).loss(norms), unit)


def _verify(certificate: Mapping[str, Any]) -> None:
    check_within("the counts", _recompute(certificate), stated_in(certificate))


EVALUATION_KIND = register(ReleaseKind("evaluation", Evaluation.from_bytes, Evaluation.digests, _recompute, _verify))
