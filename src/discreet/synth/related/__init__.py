"""Histories and several tables: each part a synthetic table of its own, drawn one on the condition of another."""

from discreet.synth.related._fit import fit_tables
from discreet.synth.related._kind import KIND
from discreet.synth.related._question import PreparedTables, SynthesizeTables
from discreet.synth.related._release import SyntheticTables
from discreet.synth.related._shapes import History

__all__ = ["KIND", "History", "PreparedTables", "SynthesizeTables", "SyntheticTables", "fit_tables"]
