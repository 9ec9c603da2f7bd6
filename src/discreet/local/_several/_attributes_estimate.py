"""What several schemes estimate, each of its own attribute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.errors import DataError, ParameterError, printable
from discreet.local._server import Server

__all__ = ["AttributesEstimate"]


@dataclass(frozen=True, slots=True, eq=False)
class AttributesEstimate:
    """The estimates of several attributes, by name: ``found["os"]`` is that of its scheme, with its own reports.

    It is made when it is asked for. The people who report an attribute are drawn from all, so each estimate is one of
    all people, and its `interval` for the population that they were drawn from holds as it stands. It follows from
    reports alone. Raises `ParameterError` for another name, and `DataError` for an attribute that nobody has reported
    yet.

    Attributes
    ----------
    reports
        How many reports there were, of all attributes together.
    servers
        For each attribute the server of its scheme, which says how many reports there were of it, and takes candidates
        where its scheme does.
    """

    reports: int
    servers: Mapping[str, Server[Any]]

    def __getitem__(self, name: str) -> Any:
        if name not in self.servers:
            raise ParameterError(f"there is no attribute {printable(name)!r}; there are {_listed(self.servers)}")
        if self.servers[name].reports == 0:
            raise DataError(f"nobody has reported {printable(name)!r} yet; there is nothing to estimate it from")
        return self.servers[name].estimate()

    def __iter__(self) -> Iterator[str]:
        return iter(self.servers)

    def __len__(self) -> int:
        return len(self.servers)


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(repr(printable(name)) for name in list(names)[:20])
