"""Attacks on privacy claims: what a mechanism is shown to leak, beside what it says it does."""

__all__: list[str] = []
