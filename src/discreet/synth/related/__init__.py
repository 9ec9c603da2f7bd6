"""Histories and several tables: each part a synthetic table of its own, drawn one on the condition of another."""

from discreet.synth.related._fit import fit_tables, load_tables
from discreet.synth.related._kind import KIND
from discreet.synth.related._plan import PlannedPart, TablesPlan, plan_tables, plan_tables_question
from discreet.synth.related._question import PreparedTables, SynthesizeTables
from discreet.synth.related._release import SyntheticTables
from discreet.synth.related._shapes import History

__all__ = [
    "KIND",
    "History",
    "PlannedPart",
    "PreparedTables",
    "SynthesizeTables",
    "SyntheticTables",
    "TablesPlan",
    "fit_tables",
    "load_tables",
    "plan_tables",
    "plan_tables_question",
]
