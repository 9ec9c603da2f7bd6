"""The protocol of a question: what it asks in public, what it costs, how it is answered, stored and read again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from discreet.elapsed import report_step
from discreet.errors import DataError
from discreet.policy import Policy
from discreet.privacy import Loss, currency
from discreet.release._base import BaseRelease
from discreet.release._cancelling import Cancellation, check_cancelled

__all__ = ["Certify", "Prepared", "Question", "ReleaseContext", "Terms"]

R_co = TypeVar("R_co", bound=BaseRelease, covariant=True)

Certify = Callable[[Mapping[str, Any]], dict[str, Any]]
"""From what a release states of itself to its certificate, which is signed and names the charge."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a question is asked under. All of it is public, and nothing is charged yet.

    Attributes
    ----------
    policy
        The public facts of the source.
    currency
        What the ledger counts in: ``"pure"``, ``"approx"``, ``"rho"`` or ``"mu"``.
    accept
        Raises `QueryError` for a `discreet.query.BoundedAggregate` that the engine would refuse by the query alone.
    read_public
        From a `discreet.query.BoundedAggregate` over public tables alone to its groups; None where there is no source.
    """

    policy: Policy
    currency: str
    accept: Callable[[Any], None]
    read_public: Callable[[Any], Any] | None = None

    @classmethod
    def of_policy(cls, policy: Policy) -> Terms:
        """Those of a policy alone, before there is a source or a ledger: an engine may still refuse what is asked."""
        counts_in = "pure" if policy.budget is None else currency(policy.budget.loss())
        return cls(policy, counts_in, lambda _: None)


def _no_records(request: Any, salt: bytes) -> Any:  # noqa: ARG001 - as engines read them
    raise DataError("there are no records here: what is asked has counts and sums alone")


def _no_edges(request: Any, search: Any) -> Any:  # noqa: ARG001 - as engines take them
    raise DataError("there are no edges here: what is asked has counts and sums alone")


@dataclass(frozen=True, slots=True)
class ReleaseContext:
    """What a question may use while it is answered. Its loss has been charged, and stays charged whatever happens.

    Attributes
    ----------
    policy
        The public facts of the source.
    aggregate
        Runs a `discreet.query.BoundedAggregate` with 16 secret bytes and returns its exact groups. These are private:
        the question must add the noise that its loss is for. It may ask as often as it likes, each time on the grounds
        of earlier noisy answers.
    count_marginals
        Counts the `discreet.query.Marginals` of a bounded aggregate with 16 secret bytes, all in one pass over the same
        rows, and returns an array of exact counts for each: private as the groups are.
    certify
        Signs what the release states of itself.
    read_records
        Reads the rows of a `discreet.query.RecordRows` with 16 secret bytes, as an Arrow table: those that `aggregate`
        counts, one by one, and private as the groups are.
    query_edges
        Counts the graph of a `discreet.query.EdgeRows` where its edges are: what a function returns that asks a
        `discreet.engines.EdgeQueries`. Private as the groups are.
    cancellation
        Whether a question that is answered in steps was cancelled; one that is answered at once has its thread's.
    """

    policy: Policy
    aggregate: Callable[[Any, bytes], Any]
    count_marginals: Callable[[Any, bytes], Any]
    certify: Certify
    read_records: Callable[[Any, bytes], Any] = _no_records
    query_edges: Callable[[Any, Callable[[Any], Any]], Any] = _no_edges
    cancellation: Cancellation | None = None

    @classmethod
    def of_engine(
        cls, engine: Any, policy: Policy, certify: Certify, cancellation: Cancellation | None = None
    ) -> ReleaseContext:
        """What a `discreet.engines.Engine` does for a question."""
        reads = engine.run, engine.count_marginals, certify, engine.read_records
        return cls(policy, *reads, getattr(engine, "query_edges", _no_edges), cancellation)

    def step(self, done: int, total: int) -> None:
        """Report progress in public numbers of steps. Raises `Cancelled` if the caller no longer waits."""
        check_cancelled()
        if self.cancellation is not None:
            self.cancellation.check()
        report_step(done, total)


class Prepared(Protocol[R_co]):
    """A question that was checked: nothing in it is left to fail by the question or the policy alone."""

    @property
    def loss(self) -> Loss:
        """What is charged, in the ledger's currency or as a budget that the ledger can read in it."""
        ...

    @property
    def hash(self) -> str:
        """SHA-256 of everything public on which the distribution of the answer depends, with the policy's digest."""
        ...

    @property
    def fresh(self) -> bool:
        """Whether the question is answered anew, and charged, each time it is asked without an idempotency key."""
        ...

    @property
    def counts(self) -> Literal["people", "edges", "arcs", "events"]:
        """Whose privacy the loss is about; a ledger that counts something else refuses it."""
        ...

    def answer(self, context: ReleaseContext) -> R_co:
        """Draw the noise and make the release, with a certificate from ``context.certify``. Its loss is charged."""
        ...

    def read(self, payload: bytes) -> R_co:
        """Restore the release from what its `to_bytes` gave. Raises `LedgerError` if the bytes are none."""
        ...


class Question(Protocol[R_co]):
    """Anything that can be asked of private data: `Session.answer` takes it. A question is trusted code.

    A class is a question if it can be prepared and if what it answers with is a `BaseRelease`. To let `discreet verify`
    recompute its loss, register a `ReleaseKind`.
    """

    def prepare(self, terms: Terms) -> Prepared[R_co]:
        """Check the question under public terms; costs nothing and touches no data.

        Whatever can fail without the data fails here, before the charge: raise `QueryError` or `ParameterError`.
        """
        ...
