"""Records: rows of people for a learner, as an opaque handle that shows what is public and nothing else."""

from __future__ import annotations

from typing import NoReturn, Protocol, TypeVar

from discreet.errors import ParameterError, QueryError
from discreet.ledger import Run
from discreet.query import Feature, RecordPlan
from discreet.release import BaseRelease, Prepared, Question, ReleaseContext
from discreet.reprs import shortened

__all__ = ["Answers", "Records"]

_R = TypeVar("_R", bound=BaseRelease)


class Answers(Protocol):
    """What answers questions and charges them: a `discreet.Session`."""

    def answer(self, question: Question[_R], *, idempotency_key: str | None = None) -> _R:
        """See `discreet.Session.answer`."""
        ...

    def prepare(self, question: Question[_R]) -> Prepared[_R]:
        """See `discreet.Session.prepare`."""
        ...

    def open_run(self, question: Question[_R], steps: int, charged: str | None = None) -> tuple[Run, ReleaseContext]:
        """See `discreet.Session.open_run`."""
        ...


class Records:
    """The rows of a SELECT without aggregates. Made by `Session.records`; only what learns from them reads them.

    It has no length and no values: how many rows there are is private too.

    Attributes
    ----------
    features
        Its columns but the label, with the bounds or public values that each has by the policy and the query.
    label
        The column that is to be predicted; None if there is none.
    plan
        What an engine is asked for.
    session
        Where they are read, and whose ledger is charged.
    """

    __slots__ = ("features", "label", "plan", "session")

    def __init__(self, session: Answers, plan: RecordPlan, label: str | None = None) -> None:
        self.session, self.plan = session, plan
        self.label: Feature | None = None if label is None else plan.feature(label)
        self.features: tuple[Feature, ...] = tuple(each for each in plan.features if each != self.label)
        if not self.features:
            raise QueryError("records need a column beside the label to learn from")

    def __repr__(self) -> str:
        """The columns, as the query and the policy say."""
        label = "" if self.label is None else f", label {self.label.name}"
        return f"<Records of {shortened(', '.join(each.name for each in self.features))}{label}>"

    def __bool__(self) -> bool:
        """Whether there are records at all: always, whatever rows there are."""
        return True

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        """Raises `ParameterError`, as all that would show rows or how many there are."""
        raise ParameterError(
            "records show no rows, nor how many there are; learners of discreet.learn are fitted on them as they are: "
            "learn.Pipeline prepares them, learn.Search chooses a model, learn.Trainer trains a network, and "
            "learn.evaluate(model, records, spend=…) buys how good it is"
        )

    def __len__(self) -> NoReturn:  # noqa: PLE0303 - it has none
        """Raises `ParameterError`: how many rows there are is private."""
        self.__array__()

    def __iter__(self) -> NoReturn:
        """Raises `ParameterError`: no row is shown."""
        self.__array__()

    def __getitem__(self, place: object) -> NoReturn:
        """Raises `ParameterError`: no row is shown."""
        self.__array__()
