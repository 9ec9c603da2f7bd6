"""What `Session.suggest` gives back: lines for a policy, what they cost, and a certificate."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import printable
from discreet.policy import Column, ColumnType, Key, toml_key, toml_value
from discreet.privacy import Loss
from discreet.release import JsonRelease

__all__ = ["Suggestion"]

_FIRST = 20


@dataclass(frozen=True, slots=True, repr=False)
class Suggestion(JsonRelease):
    """Bounds, keys and caps for a policy, found under differential privacy. It may be shown to anyone.

    Attributes
    ----------
    table, column, type
        What it is about.
    bounds
        Of a number: between which ends a mean at such a spend errs least. None for other columns, and where too few
        rows have values for any to stand out from the noise.
    keys
        Of other columns: the values that could be shown, in order; empty where each is too rare. None for numbers.
    max_rows, max_groups
        Caps, where the unit is a person; the second with keys alone. None where nothing stood out.
    loss
        What it cost.
    certificate
        In plain JSON what ran: the noise and cost of each part, the unit and relation, the digest of the policy.

    Made by `discreet.Session.suggest`; nothing in a policy changes until its owner writes it there.
    """

    called = "suggestion"
    fields = frozenset({"table", "column", "type", "bounds", "keys", "max_rows", "max_groups"})

    table: str
    column: str
    type: ColumnType
    bounds: tuple[Fraction, Fraction] | None
    keys: tuple[Key, ...] | None
    max_rows: int | None
    max_groups: int | None
    loss: Loss
    certificate: Mapping[str, Any]

    def to_toml(self) -> str:
        """The lines for the policy, as TOML; what was not found is a comment.

        >>> from discreet.privacy import pure
        >>> found = Suggestion("t", "x", "int", (Fraction(0), Fraction(80)), None, 4, None, pure(1), {})
        >>> print(found.to_toml())
        [tables.t]
        max_rows = 4
        [tables.t.columns.x]
        type = "int"
        bounds = [0, 80]
        """
        head = f"tables.{toml_key(self.table)}"
        lines = [f"{name} = {value}" for name, value in self._caps()]
        lines = [f"[{head}]", *lines] if lines else []
        lines += [f"[{head}.columns.{toml_key(self.column)}]", f'type = "{self.type}"']
        if self.keys:
            lines.append(f"keys = [{', '.join(map(toml_value, self.keys))}]")
        elif self.bounds is not None:
            lines.append(f"bounds = [{', '.join(map(toml_value, self.bounds))}]")
        else:
            lines.append("# " + self._nothing())
        return "\n".join(lines)

    def content(self) -> dict[str, Any]:
        """What was suggested; numbers of `bounds` are text, which holds them exactly."""
        return {
            "table": self.table,
            "column": self.column,
            "type": self.type,
            "bounds": None if self.bounds is None else list(map(str, self.bounds)),
            "keys": None if self.keys is None else list(map(_plain, self.keys)),
            "max_rows": self.max_rows,
            "max_groups": self.max_groups,
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any], loss: Loss, certificate: Mapping[str, Any]) -> Suggestion:
        """The inverse of `content`."""
        keys = content["keys"]
        column = Column(type=content["type"], keys=keys or None, bounds=content["bounds"])
        return cls(
            table=content["table"],
            column=content["column"],
            type=column.type,
            bounds=column.bounds,
            keys=column.keys if keys else None if keys is None else (),
            max_rows=content["max_rows"],
            max_groups=content["max_groups"],
            loss=loss,
            certificate=certificate,
        )

    def header(self) -> list[tuple[str, bool]]:
        """What is suggested, and for which column."""
        return [("suggested", False), (f"{self.table}.{self.column}", False)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:  # noqa: ARG002 - no error bars
        """Names and values as text."""
        keys = list(map(printable, map(_shown, (self.keys or ())[:_FIRST])))
        more = f", and {len(self.keys) - _FIRST:,} more" if self.keys and len(self.keys) > _FIRST else ""
        if self.keys:
            row = ["keys", ", ".join(keys) + more]
        elif self.bounds is not None:
            row = ["bounds", " to ".join(map(toml_value, self.bounds))]
        else:
            row = ["keys" if self.keys is not None else "bounds", self._nothing()]
        return [row, *([name, f"{value:,}"] for name, value in self._caps())][:first]

    def note(self, level: float = 0.95) -> str:  # noqa: ARG002 - it has no error bars
        """Who is to use it."""
        return "for the owner of the policy to write into it"

    def _caps(self) -> list[tuple[str, int]]:
        caps = (("max_rows", self.max_rows), ("max_groups", self.max_groups))
        return [(name, value) for name, value in caps if value is not None]

    def _nothing(self) -> str:
        if self.keys is not None:
            return "no key has enough people to be shown at this spend; spend more, or a larger delta"
        return "too few rows have values for bounds at this spend; spend more, or declare bounds in the policy"


def _shown(key: Key) -> str:
    return key.isoformat() if isinstance(key, dt.date) else str(key)


def _plain(key: Key) -> bool | int | str:
    return key.isoformat() if isinstance(key, dt.date) else key
