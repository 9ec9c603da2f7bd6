"""PostgreSQL's catalogue, answered from a policy: what psql, drivers and dashboards ask before they ask for data.

Rows come from a database in memory without files, network, settings or data. What a query may name is on lists; the
rest is refused, or is no query of the catalogue.
"""

from discreet.server.postgres.catalogue._builtin import SERVER_VERSION, SERVER_VERSION_NUMBER
from discreet.server.postgres.catalogue._catalogue import Catalogue, Description
from discreet.server.postgres.catalogue._output import TYPE_KEY

__all__ = ["SERVER_VERSION", "SERVER_VERSION_NUMBER", "TYPE_KEY", "Catalogue", "Description"]
