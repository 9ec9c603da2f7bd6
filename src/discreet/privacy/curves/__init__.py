"""Certified privacy curves of single mechanisms and of amplified ones."""
