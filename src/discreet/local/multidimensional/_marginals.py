"""Tables of several categorical attributes: each person reports a cell of one of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.local._codec import Longitudinal, longitudinal_of
from discreet.local._domain import Domain, DomainLike, domain_of, integer
from discreet.local._exp_epsilon import epsilon_of
from discreet.local._reports import Integers
from discreet.local.frequencies._supports import no_candidates
from discreet.local.multidimensional._cell_oracle import CellOracle, best_oracle, cell_oracle, checked_oracle
from discreet.local.multidimensional._marginal_tables import CountedTable, MarginalsEstimate
from discreet.local.multidimensional._sampling import (
    MOST_SCHEMES,
    Sampling,
    SamplingScheme,
    check_cells,
    checked_names,
    prepared_columns,
)
from discreet.privacy import Loss, pure
from discreet.rational import Number

__all__ = ["Marginals"]

_MOST_TABLE = 2**24


@dataclass(frozen=True, slots=True, init=False)
class Marginals(SamplingScheme[MarginalsEstimate]):
    """Reports the person's cell in the table of `ways` attributes, drawn from all such tables, at the full ε.

    Values are records, as for `SampledAttributes`. A table has as many cells as the product of its domains, and its
    cell is reported by a frequency oracle: 1 or 2 bytes for the table, and its number of a cell. The estimate has every
    table of `ways` attributes or fewer; the fewer, the more people tell about it. Pure ε-local privacy for the whole
    record. Under ``"memoize"`` the table is drawn once for life, and another value costs again only if the table has
    that attribute. Raises `ParameterError` unless 1e-6 ≤ ε ≤ 100, for more than 4,096 tables, a table of more than
    2**24 cells, or more than 2**26 counts together.
    Source: Cormode, Kulkarni and Srivastava 2018, "Marginal Release under Local Differential Privacy", whose MargPS
    samples a table, and its cell is reported by k-ary randomized response; ``proofs/several.md``, section 2.

    Parameters
    ----------
    attributes
        The domain of each attribute: a list of names, or a size d for 0 … d − 1.
    ways
        How many attributes a table has.
    oracle
        ``"kary_randomized_response"``, ``"hadamard_response"`` or ``"projective_geometry"``, for all tables. By default
        the first for tables of fewer than 3e^ε + 2 cells, and for others the second up to ε = 1 and the third above it.

    >>> scheme = Marginals({"os": ["linux", "mac"], "age": 4, "paid": 2}, epsilon=2)
    >>> server = scheme.server().add(scheme.client().encode([{"os": "mac", "age": 3, "paid": 0}] * 3000))
    >>> estimate = server.estimate()
    >>> estimate.marginal("os", "age").table.shape, bool(estimate.marginal("os").table[1] > 0.8)
    ((2, 4), True)
    """

    protocol: ClassVar[str] = "marginals"

    names: tuple[str, ...]
    domains: tuple[Domain, ...]
    epsilon: Fraction
    ways: int
    oracle: str | None
    longitudinal: Longitudinal
    _oracles: tuple[CellOracle, ...] = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        attributes: Mapping[str, DomainLike],
        epsilon: Number,
        *,
        ways: int = 2,
        oracle: str | None = None,
        longitudinal: Longitudinal = "once",
    ) -> None:
        if not isinstance(attributes, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError("attributes must be a mapping of each attribute's name to its domain")
        names = checked_names(list(attributes), MOST_SCHEMES)
        domains = tuple(map(domain_of, attributes.values()))
        ways = integer(ways, "ways", 1, len(names))
        tables = math.comb(len(names), ways)
        if tables > MOST_SCHEMES:
            raise ParameterError(
                f"{len(names)} attributes have more than 4,096 tables of {ways}, which are the most; ask for fewer ways"
            )
        held = [domain.size for domain in domains]
        if math.prod(sorted(held)[-ways:]) > _MOST_TABLE:
            raise ParameterError(
                f"a table of {ways} of these attributes has more than 2**24 cells, the most; merge values, or "
                "ask for fewer ways"
            )
        sizes = [math.prod(table) for table in itertools.combinations(held, ways)]
        check_cells(sum(sizes))
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "domains", domains)
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "ways", ways)
        object.__setattr__(self, "oracle", checked_oracle(oracle))
        object.__setattr__(self, "longitudinal", longitudinal_of(longitudinal))
        object.__setattr__(self, "_oracles", tuple(map(self._oracle_of, sizes)))
        object.__setattr__(self, "_sampling", Sampling(tuple(each.scheme for each in self._oracles), (1,) * tables))
        self._sampling.check(self.longitudinal, tuple(map(str, range(tables))))

    @property
    def loss(self) -> Loss:
        """Pure ε of one report, for a sender who changes their whole record."""
        return pure(self.epsilon)

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The attributes of each table that people report, in the order of the attributes."""
        return tuple(itertools.combinations(self.names, self.ways))

    def parameters(self) -> dict[str, Any]:
        """The arguments that make this scheme, as JSON has them."""
        every = zip(self.names, self.domains, strict=True)
        return {
            "attributes": [{"name": name, "domain": domain.to_json()} for name, domain in every],
            "epsilon": str(self.epsilon),
            "ways": self.ways,
            "oracle": self.oracle,
        }

    def prepare(self, values: Any) -> NDArray[Any]:
        """The place of each attribute's value in its domain."""
        every = zip(self.names, self.domains, strict=True)
        return prepared_columns(values, {name: domain.places for name, domain in every})

    def read(self, counts: Integers, reports: int, candidates: Sequence[str] | None) -> MarginalsEstimate:
        """The tables, which are put together when they are asked for."""
        no_candidates(candidates)
        servers = self._sampling.servers(counts, reports)
        every = zip(self._places(), self._oracles, servers, strict=True)
        tables = tuple(
            CountedTable(places, oracle, server.reports, server.counts / max(server.reports, 1))
            for places, oracle, server in every
        )
        return MarginalsEstimate(self.names, self.domains, self.ways, reports, tables)

    def _places(self) -> list[tuple[int, ...]]:
        return list(itertools.combinations(range(len(self.names)), self.ways))

    def _held(self, prepared: NDArray[Any], number: int, at: Integers) -> Integers:
        """The places of a table's attributes as one number, the last running fastest."""
        cells = np.zeros(at.size, dtype=np.int64)
        for place in self._places()[number]:
            cells = cells * self.domains[place].size + prepared[str(place)][at]
        return cells

    def _oracle_of(self, size: int) -> CellOracle:
        epsilon = self.epsilon
        return cell_oracle(self.oracle or best_oracle(size, epsilon), size, epsilon, self.longitudinal)
