"""Plan and publish overlapping groups through a session, and load them again."""

from __future__ import annotations

import os

from discreet import release
from discreet.census.details._plan import DetailPlan, detail_plan
from discreet.census.details._question import PreparedDetail, PublishDetail
from discreet.census.details._release import DetailTables
from discreet.census.details._spec import DetailSpec
from discreet.errors import LedgerError
from discreet.policy import Policy
from discreet.privacy import Loss
from discreet.release import Terms
from discreet.session import Session

__all__ = ["detail", "load_detail", "plan_detail", "plan_detail_question"]


def detail(session: Session, spec: DetailSpec, spend: Loss) -> DetailTables:
    """Publish groups that overlap, each as finely as its noisy total allows. Charged once, before anything is counted.

    A first stage measures the total of each group in each area; the noisy total alone chooses how finely the group is
    shown there; a second stage measures that with fresh noise. Groups without people are answered as all others. The
    same specification and spend again are served from the ledger, free and identical.

    Raises `QueryError` and `ParameterError` for what cannot be published, before any charge; `BudgetExceeded` where the
    ledger has not enough.

    >>> import discreet as dp
    >>> import pyarrow as pa
    >>> from discreet import census
    >>> policy = {"version": "1", "budget": {"rho": 2}, "tables": {"origins": {"unit": "person", "max_rows": 2,
    ...     "columns": {"state": {"type": "string"}, "origin": {"type": "string", "keys": ["Irish", "Roma"]},
    ...                 "sex": {"type": "string", "keys": ["F", "M"], "nullable": False}}}}}
    >>> rows = [(i, "N" if i % 2 else "S", "Irish", "FM"[i % 3 > 0]) for i in range(3000)]
    >>> rows += [(i, "N", "Roma", "F") for i in range(1, 100, 2)]
    >>> origins = pa.table(dict(zip(["person", "state", "origin", "sex"], map(list, zip(*rows)))))
    >>> spec = census.DetailSpec.of_dict({
    ...     "table": "origins", "groups": {"column": "origin", "most": 2},
    ...     "geography": {"areas": {"state": ["N", "S"]}, "levels": ["state"], "root": "country"},
    ...     "detail": {"by_sex": {"from": 500, "columns": ["sex"]}}})
    >>> with dp.connect({"origins": origins}, policy) as session:
    ...     made = census.detail(session, spec, spend=dp.rho(1))
    >>> irish, roma = made.total("Irish", "N"), made.total("Roma", "N")
    >>> irish.detail, abs(irish.unbiased - 1500) < 50, roma.detail, abs(roma.unbiased - 50) < 50
    ('by_sex', True, 'total', True)
    """
    return session.answer(PublishDetail(spec, spend))


def plan_detail(session: Session, spec: DetailSpec, spend: Loss) -> DetailPlan:
    """What `detail` would measure, how likely each detail is and how wrong numbers would be. Free; touches no data.

    Raises `QueryError` and `ParameterError` exactly where `detail` would before its charge: also where totals would be
    too noisy to choose the detail of large groups as surely as the specification asks.
    """
    prepared = session.prepare(PublishDetail(spec, spend))
    assert isinstance(prepared, PreparedDetail)
    return detail_plan(prepared)


def plan_detail_question(question: PublishDetail, policy: Policy) -> DetailPlan:
    """The plan of a question under a policy alone, before there is a source or a ledger. Raises as `plan_detail`."""
    return detail_plan(question.prepare(Terms.of_policy(policy)))


def load_detail(path: str | os.PathLike[str]) -> DetailTables:
    """The groups in a file by `DetailTables.save`. That they are genuine is for `discreet verify` to say.

    Raises `DataError` if it cannot be read, `LedgerError` if it holds no such release.
    """
    loaded = release.load(path)
    if isinstance(loaded, DetailTables):
        return loaded
    raise LedgerError(f"{os.fspath(path)!r} holds no overlapping groups, but a {type(loaded).__name__}")
