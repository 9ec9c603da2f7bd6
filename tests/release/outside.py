"""A kind of release that another package would bring: a histogram with its own noise. Shown in ARCHITECTURE.md."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from discreet import noise
from discreet.privacy import Loss, from_json, pure, to_json
from discreet.query import BoundedAggregate, complete, make_plan
from discreet.release import BaseRelease, Content, ReleaseContext, ReleaseKind, Terms, check_within, stated_in


@dataclass(frozen=True)
class Histogram:
    """How many rows there are of each public key of a column, with two-sided geometric noise of the given scale."""

    table: str
    column: str
    scale: int

    def prepare(self, terms: Terms) -> PreparedHistogram:
        plan = make_plan(f"SELECT {self.column}, COUNT(*) AS n FROM {self.table} GROUP BY {self.column}", terms.policy)
        (level,) = plan.levels
        terms.accept(level.bounded)
        sensitivity = level.norms[0].l1
        loss = pure(f"{sensitivity}/{self.scale}")
        stated = {"kind": "example.histogram", "scale": self.scale, "sensitivity": sensitivity, "loss": to_json(loss)}
        public = {**stated, "query": plan.sql, "policy": terms.policy.digest(), "version": terms.policy.version}
        return PreparedHistogram(level.bounded, loss, public)


@dataclass(frozen=True)
class PreparedHistogram:
    bounded: BoundedAggregate
    loss: Loss
    public: Mapping[str, Any]
    fresh: bool = False
    counts: Literal["people"] = "people"

    @property
    def hash(self) -> str:
        return hashlib.sha256(json.dumps(dict(self.public), sort_keys=True).encode()).hexdigest()

    def answer(self, context: ReleaseContext) -> HistogramRelease:
        context.step(0, 1)
        groups = complete(context.aggregate(self.bounded, noise.secret(16)), self.bounded)
        drawn = noise.discrete_laplace(self.public["scale"], len(groups))
        counts = {str(group.key[0]): group.sums[0] + int(each) for group, each in zip(groups, drawn, strict=True)}
        statement = {**self.public, "plan": self.hash, "answer": digest(counts)}
        return HistogramRelease(counts, self.loss, context.certify(statement))

    def read(self, payload: bytes) -> HistogramRelease:
        return HistogramRelease.from_bytes(payload)


@dataclass(frozen=True, repr=False)
class HistogramRelease(BaseRelease):
    counts: Mapping[str, int]
    loss: Loss
    certificate: Mapping[str, Any] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        return self.to_json().encode()

    @classmethod
    def from_bytes(cls, payload: bytes) -> HistogramRelease:
        content = json.loads(payload)
        return cls(content["counts"], from_json(content["loss"]), content["certificate"])

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        return {"counts": dict(self.counts), "loss": to_json(self.loss), "certificate": dict(self.certificate)}

    def header(self) -> list[tuple[str, bool]]:
        return [("key", False), ("n", True)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:
        return [[key, f"{count:,}"] for key, count in self.counts.items()][:first]

    def note(self, level: float = 0.95) -> str:
        return "two-sided geometric noise"


def digest(counts: Mapping[str, int]) -> str:
    return hashlib.sha256(json.dumps(dict(counts), sort_keys=True).encode()).hexdigest()


def digests(content: Content) -> tuple[dict[str, str], None]:
    return {"answer": digest(content.fields["counts"])}, None


def recompute(certificate: Mapping[str, Any]) -> Loss:
    return pure(f"{int(certificate['sensitivity'])}/{int(certificate['scale'])}")


def verify(certificate: Mapping[str, Any]) -> None:
    check_within("the histogram", recompute(certificate), stated_in(certificate))


KIND = ReleaseKind("example.histogram", HistogramRelease.from_bytes, digests, recompute, verify)
