"""What every estimator has in common: fitted on records it charges a ledger, on arrays it only states its loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from discreet.errors import ParameterError
from discreet.learn._examples import Examples
from discreet.learn._fit import Fit, fit_examples
from discreet.learn._inputs import Input, Inputs, Places
from discreet.learn._model import Model
from discreet.learn._pictures import Picture
from discreet.learn.algorithms import Algorithm
from discreet.mechanisms import PartitionSelection
from discreet.policy import ColumnType, Key
from discreet.privacy import ApproxLoss, Loss, budget_of
from discreet.rational import Number, rational
from discreet.records import Records

__all__ = [
    "Bounds",
    "PrivateClassifier",
    "PrivateEstimator",
    "PrivateRegressor",
    "RowTransformer",
    "middles_and_width",
    "refuse_records",
]

Bounds = tuple[Number, Number] | Sequence[tuple[Number, Number]] | Mapping[str, tuple[Number, Number]]
"""Public bounds of the columns of a matrix: one pair for all, a pair for each, or a pair by name."""

_CLASS_SHARE = Fraction(1, 10)


class PrivateEstimator(BaseEstimator):
    """Base of the estimators. A subclass has the fields `spend` and `bounds`, and says its algorithm."""

    spend: Loss | None
    bounds: Bounds | None
    _finite: bool | Literal["allow-nan"] = True
    """What scikit-learn asks of a matrix: numbers that are finite, or that may be NaN, for what is missing."""

    def _algorithm(self) -> Algorithm:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803 - as scikit-learn has it
        """Fit a private model.

        Parameters
        ----------
        X
            Records of `Session.records`: the spend is **charged** to the session's ledger, or the same model is given
            again for free. Or a matrix of rows in memory, each another person: the raw toolbox, which charges nobody
            and needs public `bounds`; its `loss` says what was spent, under neighbours with one row more or less.
        y
            What is to be predicted, of a matrix; records have it as their label.

        Raises
        ------
        ParameterError
            For parameters that are missing or wrong; nothing is spent.
        BudgetExceeded, DataError, LedgerError, QueryError, Cancelled
            As `Session.answer`, for records.
        ValueError
            As scikit-learn's estimators, for a matrix that is none.
        """
        if self.spend is None:
            raise ParameterError(
                f"say what to spend, as in {type(self).__name__}(spend=dp.approx(1, 1e-6)); there is no default"
            )
        if isinstance(X, Records):
            if y is not None:
                raise ParameterError("records have their label: leave y out, and name it in records(query, label=…)")
            model = X.session.answer(Fit(X.plan, X.label, self._algorithm(), self.spend))
        else:
            examples, spend = self._examples(X, y)
            model = fit_examples(examples, self._algorithm(), spend)
        self._adopt(model, self._spend(), on_records=isinstance(X, Records))
        return self

    def _adopt(self, model: Model, loss: Loss, *, on_records: bool) -> None:
        """Be the estimator of a model; rows to predict are read as it reads them, if it was fitted on no matrix."""
        self.model_: Model = model
        self.loss_: Loss = loss
        self._on_records = on_records
        if on_records:
            self.n_features_in_ = len(model.inputs.features)
            self.feature_names_in_ = np.array([each.name for each in model.inputs.features], object)
        self._after_fit()

    def _after_fit(self) -> None:
        """Set what scikit-learn expects of a fitted estimator of the kind."""

    def _examples(self, X: Any, y: Any) -> tuple[Examples, Loss]:  # noqa: N803, ARG002
        numbers = self._matrix(X, reset=True)
        inputs = Inputs(self._inputs())
        return self._encoded(inputs, numbers, np.zeros(len(numbers), np.int32)), self._spend()

    def _spend(self) -> Loss:
        if not isinstance(self.spend, Loss):
            raise ParameterError('spend must be a loss, for example dp.approx(1, "1e-6") or dp.rho("0.01")')
        return self.spend

    def _matrix(self, X: Any, *, reset: bool) -> NDArray[np.float64]:  # noqa: N803
        return np.asarray(validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite=self._finite))

    def _inputs(self) -> tuple[Input, ...]:
        """The columns of the matrix that was fitted, with the bounds that were said."""
        count = int(self.n_features_in_)
        names = [str(each) for each in getattr(self, "feature_names_in_", [f"x{i}" for i in range(count)])]
        return tuple(
            Input(name, None, *_pair(bounds, name))
            for name, bounds in zip(names, _bounds_of(self.bounds, names, type(self).__name__), strict=True)
        )

    def _encoded(self, inputs: Inputs, matrix: NDArray[np.float64], target: Places) -> Examples:
        levels = [each.levels(matrix[:, i]) for i, each in enumerate(inputs.features)]
        return Examples(inputs, np.stack(levels, axis=1), np.zeros((len(matrix), 0), np.int32), target)

    def _rows(self, X: Any) -> Any:  # noqa: N803
        """Rows to predict: checked by scikit-learn's rules, if a matrix was fitted; else by the names of inputs."""
        check_is_fitted(self)
        return X if self._on_records else self._matrix(X, reset=False)

    @property
    def loss(self) -> Loss:
        """What fitting cost. Raises scikit-learn's `NotFittedError` before."""
        check_is_fitted(self)
        return self.loss_

    @property
    def certificate(self) -> Mapping[str, Any]:
        """What ran, in plain JSON; signed by the ledger, if it was fitted on records."""
        check_is_fitted(self)
        return self.model_.certificate

    def plot(self, what: Picture | None = None) -> Any:
        """A picture of the fitted model as an altair chart; see `Model.plot`. Costs nothing."""
        check_is_fitted(self)
        return self.model_.plot(what)


class PrivateClassifier(ClassifierMixin, PrivateEstimator):
    """Base of the classifiers, which have the field `classes` too."""

    classes: Sequence[Key] | None

    def _after_fit(self) -> None:
        self.classes_ = np.array(self.model_.inputs.classes)

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The likeliest class of each row of a frame or matrix. Costs nothing."""
        rows = self._rows(X)
        return self.classes_[self.model_.predict_proba(rows).argmax(axis=1)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The probability of each class, in the order of `classes_`. Costs nothing."""
        rows = self._rows(X)
        return self.model_.predict_proba(rows)

    def _examples(self, X: Any, y: Any) -> tuple[Examples, Loss]:  # noqa: N803
        matrix, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite=self._finite)
        check_classification_targets(y)
        labels: NDArray[Any] = np.asarray(y)
        classes, spend = self._classes(labels)
        target = Input("y", tuple(classes), type=_type_of(classes))
        cells = target.cells(list(map(_class_of, labels)))
        there = cells >= 0
        inputs = Inputs(self._inputs(), target)
        return self._encoded(inputs, np.asarray(matrix)[there], cells[there]), spend

    def _classes(self, labels: NDArray[Any]) -> tuple[list[Any], Loss]:
        """The public classes, or those that a tenth of the spend has bought, and what is left of it."""
        spend = self._spend()
        if self.classes is not None:
            return list(map(_class_of, self.classes)), spend
        kind, allowed = budget_of(spend)
        if kind != "approx" or not allowed[1]:
            raise ParameterError(
                f"say which classes there are, as in {type(self).__name__}(classes=[0, 1]); they are bought only "
                "with a spend in (ε, δ)"
            )
        epsilon, delta = allowed
        bought = PartitionSelection(epsilon * _CLASS_SHARE, delta / 2)
        values, counts = np.unique(labels, return_counts=True)
        shown = [_class_of(each) for each in values[bought.release(counts)]]
        if len(shown) < 2:
            raise ValueError(
                "no 2 classes have enough rows to be shown for this spend, 1 class at most: spend more, or say them"
            )
        return shown, ApproxLoss(epsilon * (1 - _CLASS_SHARE), delta / 2)


class PrivateRegressor(RegressorMixin, PrivateEstimator):
    """Base of the regressors, which have the field `target_bounds` too."""

    target_bounds: tuple[Number, Number] | None

    def predict(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The number predicted for each row of a frame or matrix. Costs nothing."""
        rows = self._rows(X)
        return self.model_.predict(rows)

    def _examples(self, X: Any, y: Any) -> tuple[Examples, Loss]:  # noqa: N803
        matrix, numbers = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_all_finite=self._finite)
        if self.target_bounds is None:
            raise ParameterError(
                f"say the public bounds of y, as in {type(self).__name__}(target_bounds=(0, 9)); none is read off rows"
            )
        target = Input("y", None, *_pair(self.target_bounds, "y"))
        inputs = Inputs(self._inputs(), target)
        return self._encoded(inputs, np.asarray(matrix), target.levels(np.asarray(numbers, np.float64))), self._spend()


class RowTransformer(TransformerMixin):
    """Base of what transforms rows: those of records are shown to nobody."""

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:  # noqa: N803
        """Fit it on a matrix, and transform that. Raises `ParameterError` for records; nothing is spent."""
        refuse_records(X)
        return super().fit_transform(X, y, **fit_params)


def refuse_records(rows: object) -> None:
    """Raise `ParameterError` for records, whose rows are not to be shown, transformed or not."""
    if isinstance(rows, Records):
        raise ParameterError(
            "records show no rows, and so no transformed ones: transformers and a model are fitted together by "
            "learn.Pipeline([…]).fit(records)"
        )


def _bounds_of(bounds: Bounds | None, names: Sequence[str], estimator: str) -> list[Any]:
    if bounds is None:
        raise ParameterError(
            f"say the public bounds of the columns, as in {estimator}(bounds=(0, 1)) or a pair for each; none is read "
            "off rows"
        )
    if isinstance(bounds, Mapping):
        left = [name for name in names if name not in bounds]
        if left:
            raise ParameterError(f"bounds has none for {left[0]}")
        return [bounds[name] for name in names]
    pairs: list[Any] = list(bounds)
    if len(pairs) == 2 and not any(isinstance(each, Sequence | np.ndarray) for each in pairs):
        return [tuple(pairs)] * len(names)
    if len(pairs) != len(names):
        raise ParameterError(f"bounds has {len(pairs)} pairs, and there are {len(names)} columns")
    return pairs


def _pair(bounds: Any, name: str) -> tuple[Fraction, Fraction]:
    try:
        lower, upper = (each.item() if isinstance(each, np.generic) else each for each in bounds)
        ends = rational(lower, "a bound"), rational(upper, "a bound")
    except (TypeError, ValueError):
        raise ParameterError(f"the bounds of {name} are a pair of numbers, not {bounds!r}") from None
    if ends[0] > ends[1]:
        raise ParameterError(f"the bounds of {name} are in the wrong order: {bounds!r}")
    return ends


def _class_of(value: Any) -> Any:
    """A class as Python has it; whole numbers are ints, however they came."""
    plain = value.item() if isinstance(value, np.generic) else value
    return int(plain) if isinstance(plain, float) and plain.is_integer() else plain


def _type_of(classes: Sequence[Any]) -> ColumnType:
    kinds: set[type] = {type(each) for each in classes}
    types: dict[type, ColumnType] = {bool: "bool", int: "int", str: "string"}
    (kind,) = kinds if len(kinds) == 1 else (object,)
    if kind not in types or len(set(classes)) != len(classes):
        raise ParameterError("classes are different whole numbers, texts or truth values, all of one type")
    return types[kind]


def middles_and_width(inputs: Inputs) -> tuple[NDArray[np.float64], float]:
    """The middle of each number's bounds, and half of the widest ones."""
    middles = np.array([float((each.lower + each.upper) / 2) for each in inputs.numbers])
    return middles, float(max(each.upper - each.lower for each in inputs.numbers) / 2)
