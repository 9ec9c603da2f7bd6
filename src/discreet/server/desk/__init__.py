"""The desk of a team: the only way from any front to session and ledger.

Who asks, what may it cost, plan, charge, answer. `Desk` does all of it in plain calls from any thread; the fronts over
HTTP and the PostgreSQL wire translate, and import neither ledger nor engines.
"""

from discreet.server.desk._ask import LONGEST_QUERY, Answered, Ask, Basket, EarlierAnswer, Quote, QuotedColumn, Source
from discreet.server.desk._audit_log import AuditEntry, AuditLog
from discreet.server.desk._buckets import Buckets
from discreet.server.desk._callers import OWNER, Caller
from discreet.server.desk._desk import Budget, Desk, Ticket
from discreet.server.desk._open import open_desk
from discreet.server.desk._owner_desk import AuditorDesk, OwnerDesk
from discreet.server.desk._recently_used import RecentlyUsed
from discreet.server.desk._refusals import Kind, Refusal, refusal_of
from discreet.server.desk._requests import BudgetRequest

__all__ = [
    "LONGEST_QUERY",
    "OWNER",
    "Answered",
    "Ask",
    "AuditEntry",
    "AuditLog",
    "AuditorDesk",
    "Basket",
    "Buckets",
    "Budget",
    "BudgetRequest",
    "Caller",
    "Desk",
    "EarlierAnswer",
    "Kind",
    "OwnerDesk",
    "Quote",
    "QuotedColumn",
    "RecentlyUsed",
    "Refusal",
    "Source",
    "Ticket",
    "open_desk",
    "refusal_of",
]
