"""A table and its policy, as files of the package."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Dataset", "rand"]


@dataclass(frozen=True)
class Dataset:
    """A public table that ships with discreet: the paths of its files.

    Attributes
    ----------
    name
        What queries call the table.
    table
        A Parquet file.
    policy
        A TOML file with the public facts of the table.
    source
        A text file: where the table comes from, its columns and its licence.
    """

    name: str
    table: Path
    policy: Path
    source: Path


_RAND = Path(__file__).parent / "rand"

rand = Dataset("visits", _RAND / "visits.parquet", _RAND / "visits.toml", _RAND / "SOURCE.txt")
"""20,190 years of 5,912 people in the RAND health insurance experiment: bills and visits to a doctor."""
