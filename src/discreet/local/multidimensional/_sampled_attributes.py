"""Attribute sampling: each person reports one of several attributes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from discreet.errors import DataError, ParameterError, printable
from discreet.local._codec import Longitudinal, longitudinal_of
from discreet.local._reports import Integers
from discreet.local._scheme import Scheme, check_lifetime
from discreet.local._server import Server
from discreet.local.multidimensional._sampling import (
    MOST_SCHEMES,
    Sampling,
    SamplingScheme,
    checked_names,
    prepared_columns,
)
from discreet.privacy import Loss
from discreet.rational import Number, rational

__all__ = ["AttributesEstimate", "SampledAttributes"]


@dataclass(frozen=True, slots=True, eq=False)
class AttributesEstimate:
    """The estimates of several attributes, by name: ``estimate["os"]`` is that of its scheme, with its own reports.

    It is made when it is asked for. The people who report an attribute are drawn from all, so each estimate is one of
    all people, and its `interval` for the population that they were drawn from holds as it stands. It follows from
    reports alone. Raises `ParameterError` for another name, and `DataError` for an attribute that nobody has reported
    yet.

    Attributes
    ----------
    reports
        How many reports there were, of all attributes together.
    servers
        For each attribute the server of its scheme, which says how many reports there were of it, and takes candidates
        where its scheme does.
    """

    reports: int
    servers: Mapping[str, Server[Any]]

    def __getitem__(self, name: str) -> Any:
        if name not in self.servers:
            raise ParameterError(f"there is no attribute {printable(name)!r}; there are {_listed(self.servers)}")
        if self.servers[name].reports == 0:
            raise DataError(f"nobody has reported {printable(name)!r} yet; there is nothing to estimate it from")
        return self.servers[name].estimate()

    def __iter__(self) -> Iterator[str]:
        return iter(self.servers)

    def __len__(self) -> int:
        return len(self.servers)


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(repr(printable(name)) for name in list(names)[:20])


_DEEPEST = 4
_MOST_WEIGHT = 2**53


@dataclass(frozen=True, slots=True, init=False)
class SampledAttributes(SamplingScheme[AttributesEstimate]):
    """Reports one attribute of a person's record, drawn by public weights, by that attribute's scheme at its full ε.

    Values are records: one, as ``{"os": "linux", "hours": 3.5}``, a list of them, or columns as a mapping or a frame. A
    report says which attribute it is about, in 1 or 2 bytes, and has the width of the widest scheme beside that. Its
    loss is the largest of the schemes', as the draw does not depend on the record. Better than a share of ε for each of
    m attributes: an error grows by √m, and not by m or more. Under ``"memoize"`` the attribute is drawn once for life,
    so that a change of another one costs nothing. A scheme can itself have several attributes, to a depth of 4.
    Raises `ParameterError` unless there are 1 to 4,096 schemes, all of the same `longitudinal` and of pure ε, with at
    most 2**26 counts together.
    Source: Nguyên, Xiao, Yang, Hui, Shin and Shin 2016, and Wang et al. 2019, Section IV, sample attributes so;
    ``proofs/several.md``, section 1.

    Parameters
    ----------
    parts
        The scheme of each attribute.
    weights
        How often each attribute is drawn, in proportion to the others; by default all alike.

    >>> from discreet.local import HadamardResponse, Hybrid
    >>> scheme = SampledAttributes({"os": HadamardResponse(["linux", "mac"], 2), "hours": Hybrid((0, 24), 2)})
    >>> reports = scheme.client().encode([{"os": "linux", "hours": 3.5}, {"os": "mac", "hours": 8}] * 5000)
    >>> estimate = scheme.server().add(reports).estimate()
    >>> estimate["os"].frequencies.shape, 0 < estimate["hours"].mean < 12
    ((2,), True)
    """

    protocol: ClassVar[str] = "sampled_attributes"

    names: tuple[str, ...]
    schemes: tuple[Scheme[Any], ...]
    weights: tuple[int, ...]
    longitudinal: Longitudinal

    def __init__(
        self,
        parts: Mapping[str, Scheme[Any]],
        *,
        weights: Mapping[str, Number] | None = None,
        longitudinal: Longitudinal = "once",
    ) -> None:
        if not isinstance(parts, Mapping) or not all(isinstance(scheme, Scheme) for scheme in parts.values()):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError("parts must be a mapping of each attribute's name to its scheme")
        names = checked_names(list(parts), MOST_SCHEMES)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "schemes", tuple(parts.values()))
        object.__setattr__(self, "weights", _weights_of(weights, names))
        object.__setattr__(self, "longitudinal", longitudinal_of(longitudinal))
        if _depth(self) > _DEEPEST:
            raise ParameterError(f"attributes that have attributes go {_DEEPEST} deep at most; put parts side by side")
        object.__setattr__(self, "_sampling", Sampling(self.schemes, self.weights))
        self._sampling.check(self.longitudinal, names)

    @property
    def loss(self) -> Loss:
        """Pure ε of one report, the largest of the schemes', for a sender who changes their whole record."""
        return self._sampling.worst(lambda scheme: scheme.loss)

    @property
    def reach(self) -> tuple[int, int]:
        """The least and the most of the schemes'."""
        every = [scheme.reach for scheme in self.schemes]
        return min(least for least, _ in every), max(most for _, most in every)

    def parameters(self) -> dict[str, Any]:
        """Name, weight and document of each attribute's scheme."""
        return self._parts([json.loads(scheme.to_json()) for scheme in self.schemes])

    def client_document(self) -> dict[str, Any]:
        """The document without what only the servers of its parts read."""
        return self._document(self._parts([scheme.client_document() for scheme in self.schemes]))

    def _parts(self, documents: list[dict[str, Any]]) -> dict[str, Any]:
        every = zip(self.names, self.weights, documents, strict=True)
        return {"parts": [{"name": name, "weight": weight, "document": document} for name, weight, document in every]}

    def prepare(self, values: Any) -> NDArray[Any]:
        """The records, each attribute prepared by its scheme."""
        return prepared_columns(
            values, {name: scheme.prepare for name, scheme in zip(self.names, self.schemes, strict=True)}
        )

    def _held(self, prepared: NDArray[Any], number: int, at: Integers) -> NDArray[Any]:
        return prepared[str(number)][at]

    def lifetime_loss(self, *, reports: int, values: int) -> Loss:
        """As `Scheme.lifetime_loss`; under ``"memoize"`` the largest of the schemes'.

        A client reports one attribute for life there, and `values` are different values of one attribute.
        """
        check_lifetime(reports, values)
        if self.longitudinal == "once":
            return reports * self.loss
        return self._sampling.worst(lambda scheme: scheme.lifetime_loss(reports=reports, values=values))

    def read(self, counts: Integers, reports: int, candidates: Sequence[str] | None) -> AttributesEstimate:
        """A server for each attribute, which estimates when it is asked."""
        if candidates is not None:
            raise ParameterError(
                "several attributes cannot share candidates; ask the one that needs them, as "
                "server.estimate().servers['words'].estimate(candidates)"
            )
        return AttributesEstimate(reports, dict(zip(self.names, self._sampling.servers(counts, reports), strict=True)))


def _weights_of(weights: Mapping[str, Number] | None, names: tuple[str, ...]) -> tuple[int, ...]:
    """The least whole numbers in these proportions."""
    if weights is None:
        return (1,) * len(names)
    if not isinstance(weights, Mapping) or set(weights) != set(names):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError("weights must be a mapping that has a number for each attribute, and no others")
    exact = [rational(weights[name], f"the weight of {printable(name)!r}") for name in names]
    if min(exact) <= 0:
        raise ParameterError("weights must be above 0; leave an attribute out that nobody is to report")
    scale = math.lcm(*(each.denominator for each in exact))
    numbers = [int(each * scale) for each in exact]
    common = math.gcd(*numbers)
    if sum(numbers) // common > _MOST_WEIGHT:
        raise ParameterError("weights must be in a proportion of whole numbers whose sum is at most 2**53; round them")
    return tuple(number // common for number in numbers)


def _depth(scheme: Scheme[Any]) -> int:
    return 1 + max(map(_depth, scheme.schemes)) if isinstance(scheme, SampledAttributes) else 0
