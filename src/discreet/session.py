"""A session: ask, and spend a budget."""

from __future__ import annotations  # noqa: I001 - in two lines each, where the formatter would take twenty

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from discreet.combined import Statement, plan_statement, plan_under
from discreet.engines import Engine
from discreet.ledger import Ledger, Request, Run, check_policy_match, spend_first
from discreet.policy import Policy
from discreet.privacy import Loss
from discreet.query import Plan, Query, Release, Suggest, Suggestion
from discreet.query import ibis_table, in_dialect, plan_records, public_reader
from discreet.rational import Number
from discreet.records import Records
from discreet.release import BaseRelease, Certify, MechanismQuestion, MechanismRelease, Prepared, Question, Questions
from discreet.release import Cancellation, ReleaseContext, Terms, check_cancelled
from discreet.reprs import shortened
from discreet.sensitivity import Norms

__all__ = ["Session"]

_R = TypeVar("_R", bound=BaseRelease)


class Session:
    """Questions about one source, under one policy, on one ledger. Made by `connect`; safe to share between threads."""

    def __init__(self, engine: Engine, policy: Policy, ledger: Ledger) -> None:
        check_policy_match(ledger, policy)
        self._engine = engine
        self._policy = policy
        self._ledger = ledger
        self._questions = Questions()
        self._closed = False

    def __repr__(self) -> str:
        """The tables, and the ledger as it was last read: showing a session asks neither the source nor the ledger."""
        tables = self._policy.tables
        name = f"Session of table{'' if len(tables) == 1 else 's'} {shortened(', '.join(tables))}"
        return f"<{name}; closed>" if self._closed else f"<{name} on {self._ledger!r}>"

    @property
    def spent(self) -> Loss:
        """What the ledger has charged so far, in its own currency."""
        return self._ledger.spent

    @property
    def remaining(self) -> Loss:
        """What the budget still allows, in the ledger's currency."""
        return self._ledger.remaining

    def plan(
        self,
        query: Query,
        spend: Loss | None = None,
        assume: Mapping[str, int] | Release | None = None,
        *,
        bias: bool = False,
        dialect: str = "duckdb",
    ) -> Plan:
        """Check a query and, given a spend, show its noise. Costs nothing; of data, groups of public tables are read.

        ``assume={"rows": n}`` is a public guess that lets `Plan.error` and `Plan.spend_for` tell the error of averages
        too, as an earlier release of the query does. `bias` and `dialect` are as in `sql`.

        Raises `QueryError` for what is not supported, `ParameterError` for a wrong spend or release.
        """
        query = in_dialect(query, dialect, self._policy)
        plan = plan_statement(query, self._policy, spend, public_reader(self._engine), bias=bias)
        for level in plan.all_levels:
            self._engine.accept(level.bounded)
        return plan_under(plan, assume)

    def table(self, name: str) -> Any:
        """An Ibis table of the policy's columns and types, for `sql` and `plan`; `MissingExtra` without Ibis."""
        return ibis_table(self._policy, name)

    def prepare(self, question: Question[_R]) -> Prepared[_R]:
        """Check any question under public terms, as `answer` does first. Costs nothing and touches no private data.

        Raises `QueryError` or `ParameterError` if it cannot be answered or charged.
        """
        engine = self._engine
        return question.prepare(Terms(self._policy, self._ledger.currency, engine.accept, public_reader(engine)))

    def answer(self, question: Question[_R], *, idempotency_key: str | None = None) -> _R:
        """Answer any question, charging its loss to the ledger before anything is drawn.

        What can fail without the data fails before the charge. The same question, under the same version label, is
        answered from the ledger at no cost, unless it is one that always pays.

        Parameters
        ----------
        question
            `discreet.combined.Statement`, `discreet.query.Suggest`, `MechanismQuestion`, or a `Question` of your own.
        idempotency_key
            With one, a request may be sent again after a connection was lost: it is paid once, and answered as the
            first one was; if that was charged and got nothing, the key is refused.

        Raises
        ------
        QueryError, ParameterError
            If the question cannot be answered or charged; nothing is spent.
        BudgetExceeded
            If its loss does not fit what is left; nothing is spent.
        DataError, LedgerError
            If the engine or the ledger fails; what was reserved stays spent.
        Cancelled
            If `cancel` or `close` is called meanwhile. Ctrl-C stops it too; what was reserved stays spent.
        """
        with self._questions.asked():
            policy, prepared = self._policy, self.prepare(question)
            request = Request(
                prepared.hash, prepared.loss, policy.part, policy.relation, idempotency_key, prepared.fresh,
                prepared.counts,
            )  # fmt: skip
            check_cancelled()
            return spend_first(self._ledger, request, lambda it: prepared.answer(self._context(it)), prepared.read)

    def open_run(self, question: Question[_R], steps: int, charged: str | None = None) -> tuple[Run, ReleaseContext]:
        """Charge a question whole that is answered in steps, or go on with its run: free, and `charged`, if given."""
        policy, prepared = self._policy, self.prepare(question)
        run = self._ledger.open_run(
            prepared.hash, prepared.loss, steps, part=policy.part, relation=policy.relation, counts=prepared.counts,
            charged=charged,
        )  # fmt: skip
        return run, self._context(run.certify, self._questions.run())

    def _context(self, certify: Certify, run: Cancellation | None = None) -> ReleaseContext:
        return ReleaseContext.of_engine(self._engine, self._policy, certify, run)

    def sql(
        self, query: Query, spend: Loss, *, bias: bool = False, dialect: str = "duckdb",
        idempotency_key: str | None = None,
    ) -> Release:  # fmt: skip
        """Answer a query with differential privacy, charging `spend` to the ledger.

        A query is SQL text, or an Ibis expression over the tables of `table`, which is asked as the SQL it stands for.
        The same query and spend, under the same version label of the policy, is answered from the ledger at no cost.
        With `bias` a tenth of the spend estimates what bounds and caps did to the rows, as `Release.bias` says. In
        another `dialect` the text is that which `discreet.transpile` gives with the session's policy.

        Raises `QueryError` for what is not supported or has no bias, and else as `answer`, as is `idempotency_key`.
        """
        statement = Statement(in_dialect(query, dialect, self._policy), spend, bias)
        return self.answer(statement, idempotency_key=idempotency_key)

    def records(self, query: Query, label: str | None = None) -> Records:
        """Rows of a SELECT without aggregates, for a learner, which is charged before it reads them. Costs nothing.

        Raises `QueryError` for what is not supported, or has neither bounds nor public values.
        """
        return Records(self, plan_records(query, self._policy), label)

    def suggest(
        self, table: str, column: str, spend: Loss, *, keys: bool = False, idempotency_key: str | None = None
    ) -> Suggestion:
        """Buy what a policy lacks about a column: bounds of a number, keys of a text or date, caps where people are.

        All of it is read off noisy counts. Bounds are round numbers between which an AVG for as large a spend errs
        least; declared ones are only tightened. Keys need a δ; ``keys=True`` looks for those of an int. Caps are the
        best for counts. Repeats and `idempotency_key` are as in `sql`. Source: ``proofs/suggest.md``.

        Raises `QueryError` where there is nothing to suggest: no such column, a bool, or public keys already; and else
        as `answer`.

        >>> import pyarrow as pa
        >>> from discreet.privacy import pure
        >>> policy = {"version": "1", "budget": {"epsilon": 9},
        ...           "tables": {"t": {"unit": "rows", "columns": {"x": {"type": "int"}}}}}
        >>> from discreet.connection import connect
        >>> with connect({"t": pa.table({"x": list(range(100)) * 50})}, policy) as session:
        ...     print(session.suggest("t", "x", spend=pure(8)).to_toml())
        [tables.t.columns.x]
        type = "int"
        bounds = [0, 100]
        """
        return self.answer(Suggest(table, column, spend, keys), idempotency_key=idempotency_key)

    def release(  # noqa: PLR0913
        self,
        mechanism: Any,
        value: Any,
        *,
        sensitivity: Number | Norms | None = None,
        spend: Loss | None = None,
        name: str | None = None,
        idempotency_key: str | None = None,
    ) -> MechanismRelease:
        """Run a mechanism of `discreet.mechanisms` on a value or data of your own, charging the ledger.

        The owner vouches that one unit moves it no more than the mechanism supposes: one record of x for each unit, or
        a number with the `sensitivity` given.

        Parameters
        ----------
        mechanism
            Any object with `loss` and `release`, as in `discreet.mechanisms`.
        value
            What its `release` takes: whole numbers, utilities, or a data set x.
        sensitivity
            What its `loss` takes, for mechanisms that add noise to a value, such as `DiscreteLaplace`.
        spend
            What to charge, if not the loss itself: any budget that the loss is known to be within. A loss that cannot
            be read in the ledger's currency needs one, as discrete Gaussian noise does on a ledger in (ε, δ).
        name
            A public name for what is released. The same name, mechanism and charge, under the same version label of
            the policy, is answered from the ledger at no cost, whatever the value. Without a name every release pays.
        idempotency_key
            As in `sql`.

        Raises
        ------
        ParameterError
            If the mechanism is for another relation, as a monotone one is under substitution, or its loss cannot be
            charged here; nothing is spent. If the value does not suit the mechanism; what was reserved stays spent.
        BudgetExceeded, LedgerError
            As `answer`.

        >>> import pyarrow as pa
        >>> from discreet.mechanisms import DiscreteLaplace
        >>> policy = {"version": "1", "budget": {"epsilon": 1},
        ...           "tables": {"t": {"unit": "rows", "columns": {"x": {"type": "int", "bounds": [0, 9]}}}}}
        >>> from discreet.connection import connect
        >>> with connect({"t": pa.table({"x": [1, 2, 3]})}, policy) as session:
        ...     release = session.release(DiscreteLaplace(scale=4), 42, sensitivity=1, name="visits")
        ...     session.release(DiscreteLaplace(scale=4), 43, sensitivity=1, name="visits").value == release.value
        True
        """
        question = MechanismQuestion(mechanism, value, sensitivity, spend, name)
        return self.answer(question, idempotency_key=idempotency_key)

    def cancel(self) -> None:
        """Stop what is being answered, from any thread or a signal's handler; what was reserved stays spent."""
        self._questions.cancel()

    def close(self) -> None:
        """Cancel what is being answered, and close the source and the ledger."""
        self._closed = True
        self._questions.cancel()
        self._engine.close()
        self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
