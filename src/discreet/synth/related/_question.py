"""Several tables as one question: checked under public terms, charged once, then measured part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from discreet import noise
from discreet.errors import ParameterError
from discreet.marginals import CellChoice
from discreet.policy import Key, Policy
from discreet.prices import Prices, check_spend
from discreet.privacy import Loss
from discreet.query import BoundedAggregate, Count, GroupKey, Scan, measure_norms
from discreet.query import Field as ColumnField
from discreet.release import PreparedQuestion, ReleaseContext, Terms
from discreet.synth._candidates import Wanted
from discreet.synth._question import PreparedTable, Tier
from discreet.synth._table import SyntheticTable
from discreet.synth.related._known import known_of
from discreet.synth.related._parts import Part, bounded_of, parts_of, rules_of, shares_of
from discreet.synth.related._release import SyntheticTables, digest_of_parts
from discreet.synth.related._resolve import resolved
from discreet.synth.related._shapes import History, PublicLink, Shape, shapes_of
from discreet.synth.rows._rows import public_rows
from discreet.synth.rules import BoundRules, Rule

__all__ = ["PreparedTables", "SynthesizeTables"]

_TIERS = ("instant", "best")


@dataclass(frozen=True)
class SynthesizeTables:
    """Synthetic stand-ins for tables that belong together; see `discreet.synth.fit_tables`."""

    tables: Sequence[str]
    spend: Loss
    tier: Tier = "best"
    histories: Mapping[str, History] = field(default_factory=dict[str, History])
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    cells: Mapping[str, Mapping[str, CellChoice]] = field(default_factory=dict[str, Mapping[str, CellChoice]])
    links: Mapping[str, str] = field(default_factory=dict[str, str])
    rules: Mapping[str, Sequence[Rule]] = field(default_factory=dict[str, "Sequence[Rule]"])

    def prepare(self, terms: Terms) -> PreparedTables:
        """Check it under public terms. Raises `QueryError` for what cannot be fitted, `ParameterError` for the rest."""
        policy = terms.policy
        if self.tier not in _TIERS:
            raise ParameterError(f"tier is 'instant' or 'best', not {self.tier!r}")
        check_spend(self.spend)
        shapes = shapes_of(policy, self.tables, self.histories, self.columns, self.cells, self.links, self.rules)
        for shape in shapes:
            _check_rules(shape)
        by_table = {shape.table: shape for shape in shapes}
        parts = parts_of(policy, shapes)
        prepared: list[PreparedTable] = []
        for part, share in zip(parts, shares_of(parts), strict=True):
            bounded = bounded_of(policy, part, by_table[part.table])
            terms.accept(bounded)
            prices = Prices.of_spend(self.spend, measure_norms(Count(None), bounded, policy.relation))
            prices = replace(prices, total=prices.total * share)
            each = PreparedTable(
                table=part.table, tier=self.tier, columns=part.columns, bounded=bounded, prices=prices,
                wanted=Wanted(first=part.pairs), loss=self.spend, fit_loss=self.spend, planned=(), policy=policy,
                unit=policy.unit(part.table).name or "rows", rows_per_unit=part.most,
                rules=rules_of(part, by_table[part.table].rules),
            )  # fmt: skip
            each.bound.check()
            _check_noise(each, part)
            prepared.append(each)
        links = [link for shape in shapes for link in shape.public]
        public = {link: _keys_of(policy, link) for link in links}
        for bounded in public.values():
            terms.accept(bounded)
        return PreparedTables(shapes, parts, tuple(prepared), public, self.tier, self.spend, policy)


def _check_rules(shape: Shape) -> None:
    bound = BoundRules(shape.rules, shape.columns)
    bound.check()
    if shape.rules.hard:
        public_rows(bound)


def _check_noise(prepared: PreparedTable, part: Part) -> None:
    try:
        prepared.first_noise()
    except ParameterError as error:
        raise ParameterError(f"{part.name}: {error}") from None


def _keys_of(policy: Policy, link: PublicLink) -> BoundedAggregate:
    """What an engine reads of a public table: its keys, which are public as they are."""
    kind = policy.tables[link.table].columns[link.key].type
    return BoundedAggregate(
        relation=Scan(link.table, {link.key: link.key}, public=True, key=link.key),
        unit=None,
        max_rows=1,
        max_groups=None,
        where=None,
        keys=(GroupKey(link.key, None, _column(link.key), kind),),
        measures=(),
        columns={link.key: ColumnField(kind, None, None, nullable=True)},
        used=frozenset({link.key}),
        count_units=True,
    )


def _column(name: str) -> Any:
    from sqlglot import exp

    return exp.column(exp.to_identifier(name, quoted=True))


@dataclass(frozen=True)
class PreparedTables(PreparedQuestion):
    """A question for several tables that was checked: how they belong together, and what is measured of each."""

    kind = "synthetic_tables"

    shapes: tuple[Shape, ...]
    parts: tuple[Part, ...]
    prepared: tuple[PreparedTable, ...]
    public_tables: Mapping[PublicLink, BoundedAggregate]
    tier: Tier
    loss: Loss
    policy: Policy

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, in plain JSON."""
        return {
            "tier": self.tier,
            "shapes": [shape.to_json() for shape in self.shapes],
            "parts": [each.public for each in self.prepared],
        }

    @property
    def public(self) -> dict[str, Any]:
        """What the distribution of the answer depends on; the policy is in each part."""
        return {name: value for name, value in super().public.items() if name not in ("policy", "version")}

    def answer(self, context: ReleaseContext) -> SyntheticTables:
        """Count, measure and estimate each part. Its loss is charged."""
        fits: list[SyntheticTable] = []
        statements: list[dict[str, Any]] = []
        keys = {link: self._read_keys(context, bounded) for link, bounded in self.public_tables.items()}
        by_table = {shape.table: shape for shape in self.shapes}
        for part, prepared in zip(self.parts, self.prepared, strict=True):
            known = known_of(part, list(zip(self.parts, fits, strict=False)), by_table[part.table].parent)
            fit = replace(prepared, known=known).estimated(replace(context, certify=dict), self.hash)
            statements.append(
                {
                    "part": part.name,
                    "rows_per_unit": part.most,
                    "steps": fit.certificate["steps"],
                    "measured": fit.certificate["measured"],
                }
            )
            fits.append(resolved(replace(fit, certificate={}), part, by_table, keys))
        bare = SyntheticTables(self.shapes, self.parts, tuple(fits), self.loss, {})
        statement = {
            **self.stated,
            "tables": [shape.table for shape in self.shapes],
            "tier": self.tier,
            "unit": self.prepared[0].unit,
            "currency": self.prepared[0].prices.currency,
            "parts": statements,
            "measured": digest_of_parts([each["measured"] for each in statements]),
            "answer": bare.digest(),
        }
        return replace(bare, certificate=context.certify(statement))

    def read(self, payload: bytes) -> SyntheticTables:
        """Restore stored tables. Raises `LedgerError` if the bytes are none."""
        return SyntheticTables.from_bytes(payload)

    @staticmethod
    def _read_keys(context: ReleaseContext, bounded: BoundedAggregate) -> frozenset[Key | None]:
        return frozenset(group.key[0] for group in context.aggregate(bounded, noise.secret(16)))
