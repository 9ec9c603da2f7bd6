"""The same weights each time."""

from __future__ import annotations

import pytest
import torch

collect_ignore = ["real_models.py"]
"""Run in an environment of its own, which has peft."""


@pytest.fixture(autouse=True)
def same_weights() -> None:
    """Models that a test builds start from the same weights each time."""
    torch.manual_seed(1)
