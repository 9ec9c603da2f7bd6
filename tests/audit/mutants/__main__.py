"""Prints the table of mutants."""

from mutants import rows

for name, claimed, true, seen_by in rows():
    print(f"{name:60}{claimed:8.3f}{true:9.3f}  {seen_by}")
