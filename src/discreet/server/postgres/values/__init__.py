"""Values on the PostgreSQL wire: types, cells of an answer, parameters of a question, rows to copy."""
