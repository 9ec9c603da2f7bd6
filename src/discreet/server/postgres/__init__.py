"""The PostgreSQL wire: psql, drivers and dashboards ask the desk of a team."""
