"""The client of a server for teams: the questions of a `discreet.Session`, asked over HTTP.

`RemoteSession` and `AsyncRemoteSession` ask what `_calls` describes, and check that each answer is signed by the
ledger's key. The extra is ``discreet[client]``.
"""

from discreet.client._answers import Budget, Charge, EarlierAnswer, PlanColumn, RemotePlan
from discreet.client._async_session import AsyncRemoteSession
from discreet.client._session import RemoteSession

__all__ = [
    "AsyncRemoteSession",
    "Budget",
    "Charge",
    "EarlierAnswer",
    "PlanColumn",
    "RemotePlan",
    "RemoteSession",
]
