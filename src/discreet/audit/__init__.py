"""Audits of privacy claims: certified lower bounds of what a mechanism leaks, held against its claim."""

from discreet.audit.black_box._check import check
from discreet.audit.black_box._subject import Batched, Draws, batched, subject
from discreet.audit.black_box._verdict import Trial, Verdict, Witness
from discreet.audit.catalog._entries import Audited, entries, entries_table, find_entry, run_entries
from discreet.audit.catalog._entry import Entry
from discreet.audit.catalog._queries import sql_entries
from discreet.audit.enumeration._distribution import Distribution, Probability
from discreet.audit.enumeration._enumeration import Draw, Program, enumerate_distribution
from discreet.audit.enumeration._exact import ExactVerdict, exact
from discreet.audit.neighbours._databases import neighbouring_databases, without_person, without_row
from discreet.audit.neighbours._hostile import hostile_databases
from discreet.audit.neighbours._patterns import answer_patterns, record_patterns
from discreet.audit.one_run_audit._canaries import Canaries, audit_training
from discreet.audit.one_run_audit._one_run import one_run
from discreet.audit.one_run_audit._training import gradient_canaries, training
from discreet.audit.one_run_audit._verdict import Guesses, OneRunVerdict
from discreet.audit.probes._finding import Finding, Findings
from discreet.audit.probes._probe import PROBES, probe
from discreet.audit.sql._entry import SqlEntry
from discreet.audit.sql._pair import loss_between
from discreet.audit.sql._query import Query, query

__all__ = [
    "PROBES",
    "Audited",
    "Batched",
    "Canaries",
    "Distribution",
    "Draw",
    "Draws",
    "Entry",
    "ExactVerdict",
    "Finding",
    "Findings",
    "Guesses",
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
    "enumerate_distribution",
    "exact",
    "find_entry",
    "gradient_canaries",
    "hostile_databases",
    "loss_between",
    "neighbouring_databases",
    "one_run",
    "probe",
    "query",
    "record_patterns",
    "run_entries",
    "sql_entries",
    "subject",
    "training",
    "without_person",
    "without_row",
]
