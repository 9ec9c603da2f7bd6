"""Auditing a training run from one run with canaries."""
