"""Schemes from JSON: a document that is checked before anything is made of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from discreet.errors import ParameterError
from discreet.local._codec import Longitudinal
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

__all__ = ["from_json", "json_schema"]

_Number = str | int | float


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    version: Literal[1]
    longitudinal: Longitudinal = "once"


class _Frequencies(_Document):
    domain: int | list[str]
    epsilon: _Number


class _Stages(_Document):
    longitudinal: Longitudinal = "memoize"
    p: _Number
    q: _Number
    f: _Number


class _BasicRappor(_Stages):
    scheme: Literal["basic_rappor"]
    domain: int | list[str]


class _Kary(_Frequencies):
    scheme: Literal["kary_randomized_response"]


class _Rappor(_Stages):
    scheme: Literal["rappor"]
    bits: int
    hashes: int
    cohorts: int
    hash: Literal["blake2b-1"]


class _SymmetricUnary(_Frequencies):
    scheme: Literal["symmetric_unary"]


class _OptimizedUnary(_Frequencies):
    scheme: Literal["optimized_unary"]


class _Numbers(_Document):
    bounds: Annotated[list[_Number], Field(min_length=2, max_length=2)]
    epsilon: _Number


class _Duchi(_Numbers):
    scheme: Literal["duchi"]


class _Piecewise(_Numbers):
    scheme: Literal["piecewise"]


class _Hybrid(_Numbers):
    scheme: Literal["hybrid"]


class _SquareWave(_Numbers):
    scheme: Literal["square_wave"]
    bins: int
    smooth: bool


class _Warner(_Document):
    scheme: Literal["warner"]
    p: _Number


class _Hadamard(_Frequencies):
    scheme: Literal["hadamard_response"]


class _LocalHashing(_Frequencies):
    scheme: Literal["local_hashing"]
    buckets: int
    keys: int | None
    key: int
    hash: Literal["linear-1", "quadratic-1"]


class _Projective(_Frequencies):
    scheme: Literal["projective_geometry"]


class _Sketch(_Document):
    epsilon: _Number
    hashes: int
    width: int
    domain: int | list[str] | None
    key: int
    hash: Literal["blake2b-1"]


class _CountMean(_Sketch):
    scheme: Literal["count_mean_sketch"]


class _HadamardCountMean(_Sketch):
    scheme: Literal["hadamard_count_mean_sketch"]


class _Words(_Document):
    epsilon: _Number
    length: int
    alphabet: str | None
    key: int
    false_words: _Number
    hash: Literal["blake2b-shift-1"]
    rows: int
    width: int


class _PrefixExtending(_Words):
    scheme: Literal["prefix_extending"]
    step: int
    keep: int


class _TreeHist(_Words):
    scheme: Literal["tree_hist"]
    step: int
    false_prefixes: int


class _FragmentPuzzle(_Words):
    scheme: Literal["sequence_fragment_puzzle"]
    fragment: int
    pieces: int
    fragment_share: _Number
    keep: int
    word_rows: int
    word_width: int


class _PrivUnit(_Document):
    scheme: Literal["priv_unit"]
    dimension: int
    epsilon: _Number
    radius: _Number
    candidates: int
    likely: int
    hash: Literal["splitmix-normal-1"]


class _Subset(_Frequencies):
    scheme: Literal["subset_selection"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: str
    weight: Annotated[int, Field(gt=0)]
    document: Annotated[_Any, Field(discriminator="scheme")]


class _SampledAttributes(_Document):
    scheme: Literal["sampled_attributes"]
    parts: list[_Part]


class _Attribute(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: str
    domain: int | list[str]


class _Marginals(_Document):
    scheme: Literal["marginals"]
    attributes: list[_Attribute]
    epsilon: _Number
    ways: int
    oracle: str | None


class _KeyValues(_Frequencies):
    scheme: Literal["key_values"]
    bounds: Annotated[list[_Number], Field(min_length=2, max_length=2)]
    padding: int
    oracle: str


_Any = (
    _BasicRappor
    | _CountMean
    | _Duchi
    | _FragmentPuzzle
    | _Hadamard
    | _HadamardCountMean
    | _Hybrid
    | _Kary
    | _KeyValues
    | _LocalHashing
    | _Marginals
    | _OptimizedUnary
    | _Piecewise
    | _PrefixExtending
    | _PrivUnit
    | _Projective
    | _Rappor
    | _SampledAttributes
    | _SquareWave
    | _Subset
    | _SymmetricUnary
    | _TreeHist
    | _Warner
)

_ANY: TypeAdapter[Any] = TypeAdapter(Annotated[_Any, Field(discriminator="scheme")])

_CLASSES = {
    each.protocol: each
    for each in (
        BasicRappor,
        KaryRandomizedResponse,
        Rappor,
        SymmetricUnary,
        OptimizedUnary,
        HadamardResponse,
        ProjectiveGeometry,
        SubsetSelection,
        Warner,
        Duchi,
        Piecewise,
        Hybrid,
        SquareWave,
        LocalHashing,
        CountMeanSketch,
        HadamardCountMeanSketch,
        PrivUnit,
        PrefixExtending,
        TreeHist,
        SequenceFragmentPuzzle,
        KeyValues,
        Marginals,
        SampledAttributes,
    )
}


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
        raise ParameterError(f"this is not the document of a scheme: {where}: {first['msg']}") from None
    return _scheme_of(document)


def _scheme_of(document: Any) -> Scheme[Any]:
    parameters = {name: getattr(document, name) for name in type(document).model_fields}
    for name in ("scheme", "version", "hash"):
        parameters.pop(name, None)
    if "parts" in parameters:
        parts: list[_Part] = parameters.pop("parts")
        _once([part.name for part in parts])
        parameters["parts"] = _part_schemes(parts)
        parameters["weights"] = {part.name: part.weight for part in parts}
    if "attributes" in parameters:
        attributes: list[_Attribute] = parameters.pop("attributes")
        _once([attribute.name for attribute in attributes])
        parameters["attributes"] = {attribute.name: attribute.domain for attribute in attributes}
    scheme = _CLASSES[document.scheme](**parameters)
    if getattr(document, "hash", None) != scheme.parameters().get("hash"):
        raise ParameterError(f"this is not the document of a scheme: hash: {document.hash!r} is of other parameters")
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
