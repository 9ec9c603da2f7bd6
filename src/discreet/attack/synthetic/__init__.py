"""Attacks on synthetic tables: singling out, linkability, inference, and closeness as the weak evidence that it is."""

from __future__ import annotations

from discreet.attack.synthetic._neighbours import closeness, inference, linkability
from discreet.attack.synthetic._singling_out import singling_out

__all__ = ["closeness", "inference", "linkability", "singling_out"]
