"""Tables as whole numbers, for algorithms that group rows by them."""

from __future__ import annotations

from discreet.anonymize.tables._columns import Codes, Column, DistinctRows, distinct_rows
from discreet.anonymize.tables._frames import Frame, read_columns, read_frame, with_population

__all__ = ["Codes", "Column", "DistinctRows", "Frame", "distinct_rows", "read_columns", "read_frame", "with_population"]
