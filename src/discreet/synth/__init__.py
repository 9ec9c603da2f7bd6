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
>>> answer = table.sql("SELECT member, COUNT(*) AS n, MEDIAN(age) AS middle FROM t GROUP BY member")
>>> answer.kind("n"), answer.kind("middle"), len(answer.error("n"))
('measured', 'model', 2)
"""

from discreet.synth._fit import fit, load
from discreet.synth._kind import KIND
from discreet.synth._plan import Stage, SynthesisPlan, plan, plan_question
from discreet.synth._question import PreparedTable, Synthesize
from discreet.synth._report import BudgetStep, MarginalFit, SynthesisReport
from discreet.synth._table import Measured, SyntheticTable
from discreet.synth._workload import Workload, is_query
from discreet.synth.answers._answer import SyntheticAnswer
from discreet.synth.answers._refits import CombinedEstimate, combine
from discreet.synth.checks import CHECK_KIND, CheckTable, PreparedCheck, SyntheticCheck, check
from discreet.synth.related import (
    History,
    PlannedPart,
    PreparedTables,
    SynthesizeTables,
    SyntheticTables,
    TablesPlan,
    fit_tables,
    load_tables,
    plan_tables,
    plan_tables_question,
)
from discreet.synth.rows._files import (
    check_rows_file,
    check_tables_place,
    rows_to_pandas,
    rows_to_polars,
    write_rows,
    write_tables,
)
from discreet.synth.rows._repeats import RepeatedRows, min_repeats
from discreet.synth.rules import Follows, Rule, Soft, Total

__all__ = [
    "CHECK_KIND",
    "KIND",
    "BudgetStep",
    "CheckTable",
    "CombinedEstimate",
    "Follows",
    "History",
    "MarginalFit",
    "Measured",
    "PlannedPart",
    "PreparedCheck",
    "PreparedTable",
    "PreparedTables",
    "RepeatedRows",
    "Rule",
    "Soft",
    "Stage",
    "SynthesisPlan",
    "SynthesisReport",
    "Synthesize",
    "SynthesizeTables",
    "SyntheticAnswer",
    "SyntheticCheck",
    "SyntheticTable",
    "SyntheticTables",
    "TablesPlan",
    "Total",
    "Workload",
    "check",
    "check_rows_file",
    "check_tables_place",
    "combine",
    "fit",
    "fit_tables",
    "is_query",
    "load",
    "load_tables",
    "min_repeats",
    "plan",
    "plan_question",
    "plan_tables",
    "plan_tables_question",
    "rows_to_pandas",
    "rows_to_polars",
    "write_rows",
    "write_tables",
]
