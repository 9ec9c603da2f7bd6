"""The messages of the PostgreSQL protocol 3.0 to 3.2 and SCRAM, as bytes and values: nothing here reads or waits."""
