"""Signatures and encryption at rest."""
