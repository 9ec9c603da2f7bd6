"""Plan and publish statistical tables through a session, and load them again."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from discreet import release
from discreet.census._files import CONTENT
from discreet.census._plan import CensusPlan, plan_of
from discreet.census._publication import Publication
from discreet.census._question import PreparedPublication, Publish
from discreet.census._verify import recompute_publication_loss, verify_publication_loss
from discreet.census.estimates import Accuracy, cheapest_shares
from discreet.census.specs import Spec
from discreet.errors import LedgerError
from discreet.policy import Policy
from discreet.privacy import Loss
from discreet.release import ReleaseKind, Terms, register
from discreet.session import Session

__all__ = ["KIND", "load", "plan", "plan_question", "publish", "spec_for"]

KIND = register(
    ReleaseKind(
        "census", Publication.from_bytes, Publication.digests, recompute_publication_loss, verify_publication_loss
    )
)


def plan(session: Session, spec: Spec, spend: Loss) -> CensusPlan:
    """What `publish` would measure, and how wrong every number would be. Costs nothing and touches no data.

    Raises `QueryError` and `ParameterError` exactly where `publish` would before its charge.
    """
    prepared = session.prepare(Publish(spec, spend))
    assert isinstance(prepared, PreparedPublication)
    return plan_of(prepared)


def plan_question(question: Publish, policy: Policy) -> CensusPlan:
    """The plan of a question under a policy alone, before there is a source or a ledger. Raises as `plan` does."""
    return plan_of(question.prepare(Terms.of_policy(policy)))


def publish(session: Session, spec: Spec, spend: Loss) -> Publication:
    """Publish statistical tables of nested areas. The spend is charged before anything is counted.

    The same specification and spend again are served from the ledger, free and identical. Raises `QueryError` and
    `ParameterError` for what cannot be published, before any charge; `BudgetExceeded` where the ledger has not enough.

    >>> import discreet as dp
    >>> import pyarrow as pa
    >>> from discreet import census
    >>> policy = {"version": "1", "budget": {"rho": 2}, "tables": {"people": {"unit": "rows", "columns": {
    ...     "county": {"type": "string"}, "sex": {"type": "string", "keys": ["F", "M"], "nullable": False}}}}}
    >>> people = pa.table({"county": ["n1", "n2"] * 500, "sex": ["F", "M", "M", "F"] * 250})
    >>> areas = {"state": ["N", "N", "S"], "county": ["n1", "n2", "s1"]}
    >>> land = census.Geography.of_areas(areas, levels=["state", "county"], root="country")
    >>> spec = census.Spec("people", land, tables={"total": (), "by_sex": ("sex",)})
    >>> with dp.connect({"people": people}, policy) as session:
    ...     tables = census.publish(session, spec, spend=dp.rho(1))
    >>> total = tables.total(areas=["n1", "n2"])
    >>> abs(total.value - 1000) < 50, total.standard_error < 3
    (True, True)
    """
    return session.answer(Publish(spec, spend))


def load(path: str | os.PathLike[str]) -> Publication:
    """The publication in a folder or file by `Publication.save`. That it is genuine is for `discreet verify` to say.

    Raises `DataError` if it cannot be read, `LedgerError` if it holds no publication.
    """
    place = Path(path)
    loaded = release.load(place / CONTENT if place.is_dir() else place)
    if isinstance(loaded, Publication):
        return loaded
    raise LedgerError(f"{os.fspath(path)!r} holds no publication of tables, but a {type(loaded).__name__}")


def spec_for(
    session: Session, spec: Spec, accuracy: Accuracy, most: Loss, confidence: float = 0.95
) -> tuple[Spec, Loss]:
    """The shares and the least spend with which every cell of a level is within a half-width. Costs nothing.

    Parameters
    ----------
    accuracy
        For each level the greatest half-width of a cell in the worst area, of every table, or of each by name:
        ``{"county": 50, "state": {"total": 10}}``.
    most
        The most that it may cost, in the currency that is meant.

    Returns
    -------
    The specification with the shares, and the spend, for `publish`; other universes have their part of it.
    Raises `ParameterError` if `most` is not enough.
    """
    prepared = session.prepare(Publish(spec, most))
    assert isinstance(prepared, PreparedPublication)
    part = spec.universe_shares[spec.name]
    prices = replace(prepared.prices, total=prepared.prices.total * part)
    shares, price = cheapest_shares(prepared.layout, prices, accuracy, confidence)
    by_level: dict[str, dict[str, str]] = {}
    for (level, name), share in shares.items():
        by_level.setdefault(level, {})[name] = str(share)
    return replace(spec, shares=by_level), prepared.prices.budget(price / part)
