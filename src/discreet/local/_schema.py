"""Schemes from JSON: a document that is checked before anything is made of it."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from discreet.errors import ParameterError, printable
from discreet.local._document import Document, JsonDomain, Strict, document_of
from discreet.local._scheme import Scheme
from discreet.local.frequencies._count_mean import CountMeanSketch
from discreet.local.frequencies._hadamard import HadamardResponse
from discreet.local.frequencies._hadamard_count_mean import HadamardCountMeanSketch
from discreet.local.frequencies._kary import KaryRandomizedResponse
from discreet.local.frequencies._local_hashing import LocalHashing
from discreet.local.frequencies._projective import ProjectiveGeometry
from discreet.local.frequencies._subset import SubsetSelection
from discreet.local.frequencies._unary import OptimizedUnary, SymmetricUnary
from discreet.local.frequencies._warner import Warner
from discreet.local.heavy_hitters._fragment_puzzle import SequenceFragmentPuzzle
from discreet.local.heavy_hitters._prefix_extending import PrefixExtending
from discreet.local.heavy_hitters._tree_hist import TreeHist
from discreet.local.multidimensional._key_values import KeyValues
from discreet.local.multidimensional._marginals import Marginals
from discreet.local.multidimensional._sampled_attributes import SampledAttributes
from discreet.local.multidimensional._sampling import check_cells
from discreet.local.numbers._means import Duchi, Hybrid, Piecewise
from discreet.local.numbers._square_wave import SquareWave
from discreet.local.rappor._basic import BasicRappor
from discreet.local.rappor._rappor import Rappor
from discreet.local.vectors._priv_unit import PrivUnit
from discreet.reprs import shortened

__all__ = ["from_json", "json_schema"]


class _Attribute(Strict):
    name: str
    domain: JsonDomain


class _OfAttributes(Document):
    """A list and no object, because the order of the attributes matters."""

    attributes: list[_Attribute]

    def arguments(self) -> dict[str, Any]:
        _once([attribute.name for attribute in self.attributes])
        domains = {attribute.name: attribute.domain for attribute in self.attributes}
        return {**super().arguments(), "attributes": domains}


class _Part(Strict):
    name: str
    weight: Annotated[int, Field(gt=0)]
    document: _AnyDocument  # pyright: ignore[reportInvalidTypeForm] - of all kinds of schemes, which are listed below


class _OfParts(Document):
    """Each part with its weight, and its scheme as a document."""

    parts: list[_Part]

    def arguments(self) -> dict[str, Any]:
        _once([part.name for part in self.parts])
        weights = {part.name: part.weight for part in self.parts}
        return {**super().arguments(), "parts": _part_schemes(self.parts), "weights": weights}


_PLAIN: tuple[type[Scheme[Any]], ...] = (
    BasicRappor,
    CountMeanSketch,
    Duchi,
    HadamardCountMeanSketch,
    HadamardResponse,
    Hybrid,
    KaryRandomizedResponse,
    KeyValues,
    LocalHashing,
    OptimizedUnary,
    Piecewise,
    PrefixExtending,
    PrivUnit,
    ProjectiveGeometry,
    Rappor,
    SequenceFragmentPuzzle,
    SquareWave,
    SubsetSelection,
    SymmetricUnary,
    TreeHist,
    Warner,
)
"""Schemes whose document has what their constructor takes: a new one is added here, and no more."""

_LONGEST = 1_000
"""Of a message about a document."""

_DOCUMENTS = {
    **{kind: document_of(kind) for kind in _PLAIN},
    Marginals: document_of(Marginals, _OfAttributes),
    SampledAttributes: document_of(SampledAttributes, _OfParts, elsewhere=["weights"]),
}
_AnyDocument = Annotated[reduce(or_, _DOCUMENTS.values()), Field(discriminator="scheme")]
_ANY: TypeAdapter[Any] = TypeAdapter(_AnyDocument)
_KINDS = {kind.protocol: kind for kind in _DOCUMENTS}


def from_json(text: str | bytes) -> Scheme[Any]:
    """The scheme that `scheme.to_json()` wrote: clients and servers load the same document.

    Raises `ParameterError`, naming what is wrong, for a document that is not one, of another version, with a key that
    is not known, or whose parameters no scheme has.

    >>> scheme = KaryRandomizedResponse(domain=["a", "b"], epsilon="1/2")
    >>> from_json(scheme.to_json()) == scheme
    True
    """
    try:
        document = _ANY.validate_json(text)
    except ValidationError as refusal:
        first = refusal.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"][1:])) or "document"
        raise ParameterError(
            f"this is not the document of a scheme: {shortened(where)}: {printable(first['msg'][:_LONGEST])}"
        ) from None
    return _scheme_of(document)


def _scheme_of(document: Any) -> Scheme[Any]:
    scheme = _KINDS[document.scheme](**document.arguments())
    if getattr(document, "hash", None) != scheme.parameters().get("hash"):
        raise ParameterError(
            f"this is not the document of a scheme: hash: {shortened(repr(document.hash))} is of other parameters"
        )
    return scheme


def _part_schemes(parts: list[_Part]) -> dict[str, Scheme[Any]]:
    """The scheme of each part, until they are too large together."""
    schemes: dict[str, Scheme[Any]] = {}
    cells = 0
    for part in parts:
        schemes[part.name] = scheme = _scheme_of(part.document)
        cells += 1 + scheme.cells
        check_cells(cells)
    return schemes


def _once(names: list[str]) -> None:
    if len(set(names)) != len(names):
        raise ParameterError("this is not the document of a scheme: an attribute is named twice")


def json_schema() -> dict[str, Any]:
    """The JSON Schema of these documents, for clients in other languages.

    >>> "oneOf" in json_schema()
    True
    """
    return _ANY.json_schema()
