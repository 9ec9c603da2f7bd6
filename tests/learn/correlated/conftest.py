"""Lets the tests of correlated noise import what they share: `correlated_cases`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
