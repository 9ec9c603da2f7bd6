"""The policy of sampled rows of several tables: public ones, whose links are columns like others."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.policy import Column
from discreet.synth.related._shapes import Shape
from discreet.synth.rows._public_policy import declared_column
from discreet.synth.rows._public_policy import public_policies as policies_of

__all__ = ["public_policies"]


def public_policies(shapes: Sequence[Shape], version: str) -> str:
    """The policy of these tables in TOML."""
    return policies_of([(shape.table, shape.table, _columns(shape)) for shape in shapes], version)


def _columns(shape: Shape) -> list[tuple[str, Column]]:
    declared = {each.name: declared_column(each) for each in shape.columns}
    declared |= {each.name: each.declared for each in shape.rules.followers}
    declared |= {name: Column(type=kind, nullable=False) for name, kind in shape.surrogates.items()}
    return [(name, declared[name]) for name in shape.names]
