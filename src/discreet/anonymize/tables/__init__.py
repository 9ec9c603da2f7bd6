"""Tables as whole numbers, for algorithms that group rows by them."""

from __future__ import annotations

from discreet.anonymize.tables._columns import Codes, Column
from discreet.anonymize.tables._frames import Frame, read_columns, read_frame
from discreet.anonymize.tables._rows import DistinctRows, distinct_rows

__all__ = ["Codes", "Column", "DistinctRows", "Frame", "distinct_rows", "read_columns", "read_frame"]
