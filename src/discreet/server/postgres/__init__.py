"""The PostgreSQL wire: psql, drivers and dashboards ask the desk of a team.

`PostgresFront` listens. What it sends and takes is in ``codec/`` and ``values/``, what it reads in ``statements/``.
"""

from discreet.server.postgres._encryption import ALPN, Encryption, encrypting, end_point_of
from discreet.server.postgres._questions import Catalogue
from discreet.server.postgres._serve import Limits, PostgresFront
from discreet.server.postgres._sign_in import Terms

__all__ = ["ALPN", "Catalogue", "Encryption", "Limits", "PostgresFront", "Terms", "encrypting", "end_point_of"]
