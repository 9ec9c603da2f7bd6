"""The JSON document of a scheme, as pydantic reads it: the constructor's parameters, in the types that are stored."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from operator import or_
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from discreet.local._domain import Domain, DomainLike
from discreet.local._scheme import Scheme
from discreet.rational import Number

__all__ = ["Document", "JsonDomain", "Strict", "document_of"]

JsonDomain = int | list[str]
"""A domain: its size, or the names of its values."""

_Number = str | int | float

_IN_JSON: dict[Any, Any] = {
    Fraction: _Number,
    Number: _Number,
    Domain: JsonDomain,
    DomainLike: JsonDomain,
    Sequence[Number]: Annotated[list[_Number], Field(min_length=2, max_length=2)],
}
"""A type, and what a document has for it. Only bounds are a sequence of numbers; other types are as they are."""

_NO_ARGUMENTS = frozenset({"scheme", "version", "hash"})


class Strict(BaseModel):
    """An object of just these keys and types: no text stands for a number, and no truth value for a 1."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Document(Strict):
    """What every document has, beside the name of its scheme and the parameters."""

    version: Annotated[int, Field(ge=1, le=1)]

    def arguments(self) -> dict[str, Any]:
        """The constructor's arguments."""
        names = type(self).model_fields
        return {name: getattr(self, name) for name in names if name not in _NO_ARGUMENTS}


D = TypeVar("D", bound=Document)


def document_of(kind: type[Scheme[Any]], base: type[D] = Document, *, elsewhere: Sequence[str] = ()) -> type[D]:
    """The model of the documents of a class of schemes.

    A document states every parameter, so that what it means never changes with a default; only `longitudinal` may be
    left out. What the scheme keeps under the parameter's name is also what a document has: where the constructor takes
    `None` and computes a number, only the number will do. Parameters that `base` has, and those `elsewhere`, are left
    to `base`.

    >>> from discreet.local import Warner
    >>> list(document_of(Warner).model_fields)
    ['version', 'scheme', 'p', 'longitudinal']
    """
    given, stored = get_type_hints(kind.__init__), get_type_hints(kind)
    fields: dict[str, Any] = {"scheme": (_literal(kind.protocol), ...)}
    for name, parameter in inspect.signature(kind).parameters.items():
        if name not in base.model_fields and name not in elsewhere:
            default = parameter.default if name == "longitudinal" else ...
            fields[name] = (_in_json(stored.get(name, given[name])), default)
    if kind.hash_names:
        fields["hash"] = (_literal(*kind.hash_names), ...)
    return create_model(kind.__name__, __base__=base, __module__=__name__, **fields)


def _in_json(annotation: Any) -> Any:
    members = get_args(annotation)
    if NoneType in members:
        return _in_json(reduce(or_, (each for each in members if each is not NoneType))) | None
    return _IN_JSON.get(annotation, annotation)


def _literal(*texts: str) -> Any:
    return Literal[texts]
