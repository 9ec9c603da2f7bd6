"""A trained model as a release: what it reads, how it was learnt, its arrays, its loss and its certificate."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import release
from discreet.charts import load_altair
from discreet.errors import LedgerError, QueryError
from discreet.learn._inputs import Inputs
from discreet.learn._pictures import Picture, outline, picture
from discreet.learn.algorithms import Algorithm, Parameters, algorithm_from_json
from discreet.privacy import Loss
from discreet.release import JsonRelease

__all__ = ["Model", "load"]

_MOST_DIMENSIONS = 4


@dataclass(frozen=True, repr=False)
class Model(JsonRelease):
    """A model that was learnt from private rows. It may be shown to anyone, and asked as often as one likes: free.

    Attributes
    ----------
    algorithm
        How it was learnt, with its public parameters.
    inputs
        What it reads and predicts.
    parameters
        Its arrays by name.
    loss, certificate
        As of every release; the certificate lists every step that ran.
    """

    called = "model"
    fields = frozenset({"algorithm", "inputs", "parameters"})

    algorithm: Algorithm
    inputs: Inputs
    parameters: Parameters
    loss: Loss
    certificate: Mapping[str, Any]

    def predict(self, rows: object) -> NDArray[Any]:
        """The likeliest class of each row, or its number. Costs nothing.

        `rows` is a frame of pandas, polars or Arrow with the columns by name, or a matrix with them in order.
        Raises `ParameterError` for rows of another shape, `QueryError` for a model that predicts nothing.
        """
        outputs = self.outputs(rows)
        match self.algorithm.task:
            case "classification":
                return np.array(self.inputs.classes, object)[outputs.argmax(axis=1)]
            case "regression":
                return outputs[:, 0]
            case "clustering":
                return outputs.argmax(axis=1)
            case _:
                raise QueryError(f"a model by {self.algorithm.name} predicts nothing; ask for transform(rows)")

    def predict_proba(self, rows: object) -> NDArray[np.float64]:
        """The probability of each class, in the order of `inputs.classes`. Costs nothing. Raises as `predict`."""
        if self.algorithm.task != "classification":
            raise QueryError(f"a model by {self.algorithm.name} has no classes")
        return self.outputs(rows)

    def transform(self, rows: object) -> NDArray[np.float64]:
        """The new columns of each row. Costs nothing. Raises `QueryError` for a model that transforms nothing."""
        if self.algorithm.task != "transformation":
            raise QueryError(f"a model by {self.algorithm.name} transforms nothing; ask for predict(rows)")
        return self.outputs(rows)

    def outputs(self, rows: object) -> NDArray[np.float64]:
        """What the algorithm computes for each row. Costs nothing. Raises `ParameterError` for another shape."""
        return self.algorithm.outputs(self.inputs, self.parameters, *self.inputs.of_frame(rows))

    def plot(self, what: Picture | None = None) -> Any:
        """A picture of the model as an altair chart, which a notebook shows and ``.save`` writes. Costs nothing.

        Parameters
        ----------
        what
            ``"terms"``, of additive models and naive Bayes: what each bin of an input adds to the logarithm of the odds
            of a class. ``"coefficients"``, of linear models and components. ``"spend"``, of any model: what its steps
            cost. None: the first of these that it has.

        Raises `QueryError` for a picture that the model does not have, `LedgerError` for a spend whose certificate
        cannot be followed, `MissingExtra` without altair.
        """
        return load_altair().Chart.from_dict(self.to_vega_lite(what))

    def to_vega_lite(self, what: Picture | None = None) -> dict[str, Any]:
        """The chart of `plot` as a Vega-Lite specification in plain JSON, for which nothing need be installed."""
        return picture((self.algorithm, self.inputs, self.parameters), what, self.loss, self.certificate)

    def outline(self) -> str:
        """A decision tree as indented text: its questions, and the likeliest class of each leaf. Costs nothing.

        Raises `QueryError` for another model, and for a tree of more than 256 leaves.
        """
        return outline(self.algorithm, self.inputs, self.parameters)

    def content(self) -> dict[str, Any]:
        """How it was learnt, what it reads, and its arrays: float64 in base 64."""
        return {
            "algorithm": self.algorithm.to_json(),
            "inputs": self.inputs.to_json(),
            "parameters": {name: _array_to_json(array) for name, array in sorted(self.parameters.items())},
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any], loss: Loss, certificate: Mapping[str, Any]) -> Model:
        """The inverse of `content`."""
        algorithm, inputs = algorithm_from_json(content["algorithm"]), Inputs.from_json(content["inputs"])
        algorithm.check(inputs)
        parameters = {str(name): _array_from_json(data) for name, data in content["parameters"].items()}
        algorithm.check_parameters(inputs, parameters)
        return cls(algorithm, inputs, parameters, loss, certificate)

    def header(self) -> list[tuple[str, bool]]:
        """What it reads."""
        return [("input", False), ("values", False)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:  # noqa: ARG002
        """A row for each input as text."""
        rows: list[list[str]] = []
        for each in self.inputs.features[:first]:
            values = ", ".join("null" if value is None else str(value) for value in each.values or ())
            rows.append([each.name, f"{float(each.lower):g} to {float(each.upper):g}" if each.is_number else values])
        return rows

    def note(self, level: float = 0.95) -> str:  # noqa: ARG002
        """What it is."""
        target = "" if self.inputs.target is None else f" of {self.inputs.target.name}"
        return f"{self.algorithm.name.replace('_', ' ')}{target} from {len(self.inputs.features)} inputs"


def load(path: str | os.PathLike[str]) -> Model:
    """The model in a file by `save`. That it is genuine is not checked: ask `discreet verify`.

    Raises `DataError` if the file cannot be read, `LedgerError` if it holds no model.
    """
    loaded = release.load(path)
    if isinstance(loaded, Model):
        return loaded
    raise LedgerError(f"{os.fspath(path)!r} holds no model, but a {type(loaded).__name__}")


def _array_to_json(array: NDArray[np.float64]) -> dict[str, Any]:
    data = base64.b64encode(np.ascontiguousarray(array, "<f8").tobytes()).decode()
    return {"shape": list(array.shape), "data": data}


def _array_from_json(data: Mapping[str, Any]) -> NDArray[np.float64]:
    shape = data["shape"]
    if not isinstance(shape, list) or len(shape) > _MOST_DIMENSIONS or any(type(n) is not int or n < 0 for n in shape):  # pyright: ignore[reportUnknownVariableType]
        raise ValueError
    flat = np.frombuffer(base64.b64decode(data["data"], validate=True), "<f8")
    if not np.isfinite(flat).all():
        raise ValueError
    return flat.reshape(shape).astype(np.float64)  # pyright: ignore[reportUnknownArgumentType]
