"""Differential privacy with one ledger for every release."""
