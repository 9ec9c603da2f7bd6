"""What every section of a policy is: frozen, exact, without unknown keys."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetPydanticSchema,
    StrictInt,
    ValidatorFunctionWrapHandler,
)
from pydantic_core.core_schema import no_info_wrap_validator_function, plain_serializer_function_ser_schema

from discreet.errors import ParameterError
from discreet.rational import rational
from discreet.reprs import source_repr

__all__ = ["AUTO", "BoughtCap", "Cap", "Exact", "StrictModel", "exact"]

_MAX_CAP = 1_000_000


def exact(value: object) -> Fraction:
    """The decimal that a number prints as. Raises `ValueError` for no number."""
    try:
        return rational(value, "it")  # pyright: ignore[reportArgumentType]
    except ParameterError as error:
        raise ValueError(str(error)) from None


Exact = Annotated[Fraction, BeforeValidator(exact)]
Cap = Annotated[StrictInt, Field(ge=1, le=_MAX_CAP)]

AUTO: Literal["auto"] = "auto"
"""In place of a cap: each query has a cap of its own, which is chosen for a part of its spend."""


def _auto(value: object, cap: ValidatorFunctionWrapHandler) -> object:
    return AUTO if value == AUTO else cap(value)


BoughtCap = Annotated[
    int | Literal["auto"],
    GetPydanticSchema(
        lambda _, handler: no_info_wrap_validator_function(
            _auto, handler(Cap), serialization=plain_serializer_function_ser_schema(lambda cap: cap)
        )
    ),
]


class StrictModel(BaseModel):
    """A section of a policy, shown by what is given of it."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    def __repr__(self) -> str:
        values = (
            (name, getattr(self, name), field.get_default(call_default_factory=True))
            for name, field in type(self).model_fields.items()
        )
        given = (f"{name}={source_repr(value)}" for name, value, default in values if value != default)
        return f"{type(self).__name__}({', '.join(given)})"

    __str__ = __repr__
