"""Transformers of some columns each, side by side, as scikit-learn's ColumnTransformer."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal, Self, cast

from sklearn.utils.metaestimators import _BaseComposition  # pyright: ignore[reportPrivateUsage]

from discreet.errors import ParameterError
from discreet.learn.estimators._base import Bounds
from discreet.learn.pipelines._transformer import (
    PrivateTransformer,
    adopted,
    check_part,
    is_transformer,
    share_of_each,
    usual_share,
)
from discreet.learn.preparing import ColumnsAlgorithm, Element, Preparation
from discreet.privacy import Loss
from discreet.rational import Number

__all__ = ["ColumnTransformer"]

Columns = str | int | Sequence[str | int]


class ColumnTransformer(PrivateTransformer, _BaseComposition):
    """Each transformer prepares columns of its own; what comes of all of them is side by side.

    Parameters
    ----------
    transformers
        (name, transformer, columns) each. A transformer is one of `discreet.learn`, a pipeline of them,
        ``"passthrough"`` or ``"drop"``; columns are names, or places from 0.
    remainder
        ``"drop"``: columns of no transformer are left out; ``"passthrough"``: they stay, behind the others.
    spend, bounds
        As of `StandardScaler`, where it stands alone; the parts have none of their own, and share this one.
    share
        None: the parts say what they take, of a pipeline's spend.

    Attributes
    ----------
    named_transformers_
        The fitted ones by name.

    Prepared columns are called by the name of the transformer, two underscores, and their own.
    Source: ``proofs/learning_preparing.md``.

    >>> from discreet import learn
    >>> parts = [("bins", learn.Binner(2), [1]), ("scaled", learn.MinMaxScaler(), [0])]
    >>> learn.ColumnTransformer(parts, bounds=(0, 8)).fit_transform([[4.0, 6.0]])
    array([[1. , 0.5]])
    """

    def __init__(
        self,
        transformers: Sequence[tuple[str, Any, Columns]],
        *,
        remainder: Literal["drop", "passthrough"] = "drop",
        spend: Loss | None = None,
        share: Number | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self.transformers = transformers
        self.remainder = remainder
        self.spend = spend
        self.share = share
        self.bounds = bounds

    @property
    def _transformers(self) -> list[tuple[str, Any]]:
        """Their names, for scikit-learn's parameters of parts."""
        try:
            return [(name, part) for name, part, _ in self.transformers]
        except (TypeError, ValueError):  # they are refused when they are fitted
            return cast("Any", self.transformers)

    @_transformers.setter
    def _transformers(self, value: list[tuple[str, Any]]) -> None:
        pairs = zip(value, self.transformers, strict=True)
        self.transformers = [(name, part, columns) for (name, part), (_, _, columns) in pairs]

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 - as scikit-learn has it
        """Its parameters, and those of its parts by their names."""
        return self._get_params("_transformers", deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set its parameters, or those of its parts by their names."""
        self._set_params("_transformers", **params)
        return self

    def _parts(self) -> list[tuple[str, Any, tuple[Any, ...]]]:
        """Name, transformer (None: columns stay) and columns of each. Raises `ParameterError` for what is none."""
        try:
            listed = [(name, part, columns) for name, part, columns in self.transformers]
        except (TypeError, ValueError):
            raise ParameterError(
                "transformers are triples, as in ('numbers', learn.StandardScaler(), ['age'])"
            ) from None
        if self.remainder not in ("drop", "passthrough"):
            raise ParameterError(f"remainder is 'drop' or 'passthrough', not {self.remainder!r}")
        if not listed:
            raise ParameterError(
                "a ColumnTransformer has one transformer or more, as in ('numbers', learn.StandardScaler(), ['age'])"
            )
        if self.share is not None:
            raise ParameterError("the parts of a ColumnTransformer have a share each, and it has none itself")
        return [(name, _checked(name, part), _columns(columns)) for name, part, columns in listed]

    def buyers(self) -> list[PrivateTransformer]:
        """Those of all parts."""
        return [each for _, part, _ in self._parts() if part not in (None, "drop") for each in part.buyers()]

    def _algorithm(self) -> Preparation:
        return self._preparation(usual_share(self.buyers()))

    def _preparation(self, usual: Fraction) -> Preparation:
        parts = self._parts()
        present = [each for each in parts if each[1] != "drop"]
        shares = share_of_each([part for _, part, _ in present], usual)
        elements = tuple(
            Element(name, None if part is None else part._preparation(usual), share, columns)  # noqa: SLF001
            for (name, part, columns), share in zip(present, shares, strict=True)
        )
        if not elements:
            raise ParameterError(
                "all transformers are 'drop', and none makes a column: let some stay, as in ('age', 'passthrough', "
                "['age'])"
            )
        dropped = [column for _, part, columns in parts if part == "drop" for column in columns]
        return ColumnsAlgorithm(elements, self.remainder == "passthrough", tuple(dropped))

    def _after_fit(self) -> None:
        algorithm = cast("ColumnsAlgorithm", self.model_.algorithm)
        listed = algorithm.fitted_parts(self.model_.inputs, self.model_.parameters)
        fitted = {each.name: (each, own, values) for each, own, values in listed}
        self.named_transformers_: dict[str, Any] = {}
        for name, part, _ in self._parts():
            if part in (None, "drop"):
                self.named_transformers_[name] = part or "passthrough"
                continue
            element, inputs, parameters = fitted[name]
            self.named_transformers_[name] = adopted(part, element.algorithm, inputs, parameters, self.model_)


def _checked(name: str, part: Any) -> Any:
    """A transformer, None for one that leaves columns as they are, or "drop"."""
    if isinstance(part, str) and part in ("passthrough", "drop"):
        return None if part == "passthrough" else part
    transformer = cast("Any", part)
    if not (is_transformer(part) or getattr(part, "prepares", False)):
        raise ParameterError(f"{name} is no transformer of discreet.learn: {type(transformer).__name__}")
    check_part(name, transformer, "ColumnTransformer")
    return transformer


def _columns(columns: Any) -> tuple[Any, ...]:
    listed: Any = [columns] if isinstance(columns, str | int) else columns
    try:
        plain = [each.item() if hasattr(each, "item") else each for each in listed]
    except TypeError:
        plain = [None]
    if not plain or not all(type(each) in (str, int) for each in plain):
        raise ParameterError(f"columns are a list of names, or of places from 0, not {columns!r}")
    return tuple(plain)
