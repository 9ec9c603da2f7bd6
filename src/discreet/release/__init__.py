"""What every kind of release has in common: the protocol of a question, the registry of kinds, files and verification.

A *question* is prepared under public terms, charged, answered, stored and read again; `discreet.Session.answer`
conducts it. `discreet verify` recomputes the loss of what comes out, by its registered kind.
"""

from discreet.release._arrow import read_table
from discreet.release._base import BaseRelease
from discreet.release._cancelling import Cancellation, Questions, check_cancelled, current_question
from discreet.release._content import Content
from discreet.release._digest import check_finite, json_digest
from discreet.release._files import check_new_file, check_writable, read_file, write_file
from discreet.release._json_release import JsonRelease
from discreet.release._kinds import ReleaseKind, kind_of, register
from discreet.release._mechanism import MechanismQuestion, PreparedMechanism
from discreet.release._mechanism_loss import mechanism_loss
from discreet.release._mechanism_release import MechanismRelease
from discreet.release._prepared import PreparedQuestion
from discreet.release._question import Certify, Prepared, Question, ReleaseContext, Terms
from discreet.release._release_file import ReleaseFile, load, parse_release_file, recompute_loss, verify_loss
from discreet.release._shown import ShownTable
from discreet.release._stated import check_within, refuse_malformed, stated_in, stated_neighbours

__all__ = [
    "BaseRelease",
    "Cancellation",
    "Certify",
    "Content",
    "JsonRelease",
    "MechanismQuestion",
    "MechanismRelease",
    "Prepared",
    "PreparedMechanism",
    "PreparedQuestion",
    "Question",
    "Questions",
    "ReleaseContext",
    "ReleaseFile",
    "ReleaseKind",
    "ShownTable",
    "Terms",
    "check_cancelled",
    "check_finite",
    "check_new_file",
    "check_within",
    "check_writable",
    "current_question",
    "json_digest",
    "kind_of",
    "load",
    "mechanism_loss",
    "parse_release_file",
    "read_file",
    "read_table",
    "recompute_loss",
    "refuse_malformed",
    "register",
    "stated_in",
    "stated_neighbours",
    "verify_loss",
    "write_file",
]
