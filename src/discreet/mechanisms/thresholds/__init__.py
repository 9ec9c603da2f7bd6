"""Answers that are shown only where they pass a threshold."""
