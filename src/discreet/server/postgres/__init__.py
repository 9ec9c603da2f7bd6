"""The PostgreSQL wire: what clients, drivers and dashboards of PostgreSQL speak."""
