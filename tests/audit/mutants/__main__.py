"""Prints the table of mutants."""

from mutants import MUTANTS, ledger, rows, sql

for name, claimed, true, seen_by in rows((*MUTANTS, *sql.MUTANTS, *ledger.MUTANTS)):
    print(f"{name:60}{claimed:8.3f}{true:9.3f}  {seen_by}")
