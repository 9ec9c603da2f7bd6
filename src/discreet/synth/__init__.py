"""Synthetic tables: charged once, then any number of rows and questions.

A fit measures marginals of a private table with noise, estimates one joint distribution from them, and gives rows of it
that anyone may have. What it costs is charged to the session's ledger before anything is counted.

>>> import discreet as dp
>>> import pyarrow as pa
>>> from discreet import synth
>>> policy = {"version": "1", "budget": {"rho": 1},
...           "tables": {"t": {"unit": "rows", "columns": {"age": {"type": "int", "bounds": [0, 99]},
...                                                        "member": {"type": "bool", "nullable": False}}}}}
>>> people = pa.table({"age": [20 + i % 60 for i in range(4000)], "member": [i % 60 > 30 for i in range(4000)]})
>>> with dp.connect({"t": people}, policy) as session:
...     table = synth.fit(session, "t", spend=dp.rho("0.5"))
...     session.remaining
rho(0.5)
>>> rows = table.sample(1000)
>>> rows.column_names, rows.num_rows
(['age', 'member'], 1000)
"""

from discreet.synth._fit import fit, load
from discreet.synth._kind import KIND
from discreet.synth._question import PreparedTable, Synthesize
from discreet.synth._table import Measured, SyntheticTable
from discreet.synth.checks import CHECK_KIND, CheckTable, PreparedCheck, SyntheticCheck, check

__all__ = [
    "CHECK_KIND",
    "KIND",
    "CheckTable",
    "Measured",
    "PreparedCheck",
    "PreparedTable",
    "Synthesize",
    "SyntheticCheck",
    "SyntheticTable",
    "check",
    "fit",
    "load",
]
