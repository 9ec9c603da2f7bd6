"""What the API takes, read strictly: unknown names are errors."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from discreet.privacy import Loss, approx, from_json, mu, pure, rho
from discreet.query import Suggest
from discreet.rational import rational
from discreet.server.desk import LONGEST_QUERY, Ask, Refusal

__all__ = [
    "AmendBody",
    "AnswerBody",
    "BasketBody",
    "CodeBody",
    "DecisionBody",
    "GrantBody",
    "PlanBody",
    "RequestBody",
    "Spend",
    "SuggestionBody",
    "TransferBody",
]

_Number = Annotated[
    Decimal | str,
    Field(description="An exact number: 0.1, or text as 1/10.", examples=["0.1"]),
]
_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,63}$", description="The name of an account.")]
_Period = Literal["day", "week", "month", "quarter", "year"]


_MOST_NAMES = 100


def _check_names(value: Any) -> Any:
    """Raise `ValueError` for an object of too many names, before any of them is looked at."""
    if isinstance(value, dict) and len(cast("dict[Any, Any]", value)) > _MOST_NAMES:
        raise ValueError(f"an object has at most {_MOST_NAMES} names")
    return value


_Targets = Annotated[dict[str, _Number], BeforeValidator(_check_names), Field(max_length=_MOST_NAMES)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    _few = model_validator(mode="before")(_check_names)


class Spend(_Strict):
    """A loss in one currency: ε, ρ or μ, with a δ beside it, or the JSON of a loss under `loss`."""

    epsilon: _Number | None = None
    rho: _Number | None = None
    mu: _Number | None = None
    delta: _Number | None = None
    kind: str | None = None
    mu_squared: _Number | None = None

    def to_loss(self) -> Loss:
        """The loss. Raises `ParameterError` for what is none."""
        if self.kind is not None:
            return from_json({name: value for name, value in self.model_dump().items() if value is not None})
        given = {name: value for name in ("epsilon", "rho", "mu") if (value := getattr(self, name)) is not None}
        if len(given) != 1 or self.mu_squared is not None:
            raise Refusal(
                "parameter", 'a spend has one currency: write {"epsilon": 0.1}, or "rho" or "mu", and "delta"'
            )
        (name, value), delta = next(iter(given.items())), self.delta if self.delta is not None else "0"
        match name:
            case "rho":
                return rho(value, delta)
            case "mu":
                return mu(value, delta)
            case _:
                return pure(value) if self.delta is None else approx(value, delta)


class Assume(_Strict):
    """A public guess, for errors that depend on the data."""

    rows: Annotated[int, Field(ge=1, le=10**15)]


class PlanBody(_Strict):
    """A question: a query with its spend, or with the half-widths that its columns may have."""

    query: Annotated[str, Field(max_length=LONGEST_QUERY, examples=["SELECT COUNT(*) AS n FROM visits"])]
    source: Annotated[str | None, Field(max_length=64, description="The source, where there are several.")] = None
    dialect: Annotated[str, Field(max_length=16)] = "duckdb"
    bias: bool = False
    spend: Spend | None = None
    error: _Targets | None = None
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    currency: Literal["pure", "approx", "rho", "mu"] | None = None
    delta: _Number | None = None
    assume: Assume | None = None

    def to_ask(self) -> Ask:
        """The question as the desk takes it."""
        more: dict[str, Any] = {"dialect": self.dialect, "bias": self.bias, "level": self.level}
        if self.assume is not None:
            more["rows"] = self.assume.rows
        if self.error:
            if self.spend is not None:
                raise Refusal("parameter", "give a spend or targets for errors, not both")
            delta = None if self.delta is None else rational(self.delta, "delta")
            return Ask.for_errors(self.query, self.error, currency=self.currency, delta=delta, **more)
        return Ask(self.query, None if self.spend is None else self.spend.to_loss(), **more)


class AnswerBody(PlanBody):
    """A question to answer, for at most a price; without one, only what is free."""

    max_price: Spend | None = None
    rehearse: Annotated[bool, Field(description="Answer on made-up rows, for free.")] = False


class BasketBody(_Strict):
    """Several questions with one price for all of them."""

    questions: Annotated[list[PlanBody], Field(min_length=1, max_length=100)]
    source: Annotated[str | None, Field(max_length=64)] = None
    max_price: Spend | None = None
    plan: Annotated[bool, Field(description="Say what they would cost, and answer none.")] = False


class SuggestionBody(_Strict):
    """A column about which a policy lacks bounds, keys or caps, and what to spend on them."""

    table: Annotated[str, Field(max_length=256)]
    column: Annotated[str, Field(max_length=256)]
    spend: Spend
    keys: bool = False
    source: Annotated[str | None, Field(max_length=64)] = None
    max_price: Spend | None = None

    def to_question(self) -> Suggest:
        """The question."""
        return Suggest(self.table, self.column, self.spend.to_loss(), self.keys)


class RequestBody(_Strict):
    """What an account asks for beyond its cap, and why."""

    spend: Spend
    reason: Annotated[str, Field(max_length=500)] = ""
    source: Annotated[str | None, Field(max_length=64)] = None


class DecisionBody(_Strict):
    """What the owner decides about a request."""

    granted: bool


class GrantBody(_Strict):
    """An account that the owner makes."""

    name: _Name
    role: Literal["analyst", "auditor"] = "analyst"
    cap: Spend | None = None
    every: _Period | None = None
    until: datetime | None = None
    part: Annotated[str | None, Field(max_length=256)] = None


class AmendBody(_Strict):
    """What the owner changes of an account: what is named, and nothing else."""

    cap: Spend | None = None
    every: _Period | Literal["none"] | None = None
    until: datetime | Literal["never"] | None = None


class TransferBody(_Strict):
    """A part of one account's cap that moves to another."""

    giver: _Name
    taker: _Name
    spend: Spend


class CodeBody(_Strict):
    """The code that the server printed when it started."""

    code: Annotated[str, Field(max_length=256)]
