"""Attacks on privacy claims: what a mechanism is shown to leak, beside what it says it does."""

from discreet.audit._canaries import Canaries, audit_training
from discreet.audit._check import check
from discreet.audit._databases import neighbouring_databases, without_person, without_row
from discreet.audit._entries import Audited, entries, entries_table, find_entry, run_entries
from discreet.audit._entry import Entry
from discreet.audit._enumeration import Draw, Program, law_of
from discreet.audit._exact import ExactVerdict, exact
from discreet.audit._exact_law import Law, Probability
from discreet.audit._finding import Finding, Findings
from discreet.audit._hostile_databases import hostile_databases
from discreet.audit._one_run import one_run
from discreet.audit._one_run_verdict import Guesses, OneRunVerdict
from discreet.audit._patterns import answer_patterns, record_patterns
from discreet.audit._probe import PROBES, probe
from discreet.audit._query import Query, query
from discreet.audit._query_pair import loss_between
from discreet.audit._sql_entries import sql_entries
from discreet.audit._sql_entry import SqlEntry
from discreet.audit._subject import Batched, Draws, batched
from discreet.audit._verdict import Trial, Verdict, Witness

__all__ = [
    "PROBES",
    "Audited",
    "Batched",
    "Canaries",
    "Draw",
    "Draws",
    "Entry",
    "ExactVerdict",
    "Finding",
    "Findings",
    "Guesses",
    "Law",
    "OneRunVerdict",
    "Probability",
    "Program",
    "Query",
    "SqlEntry",
    "Trial",
    "Verdict",
    "Witness",
    "answer_patterns",
    "audit_training",
    "batched",
    "check",
    "entries",
    "entries_table",
    "exact",
    "find_entry",
    "hostile_databases",
    "law_of",
    "loss_between",
    "neighbouring_databases",
    "one_run",
    "probe",
    "query",
    "record_patterns",
    "run_entries",
    "sql_entries",
    "without_person",
    "without_row",
]
