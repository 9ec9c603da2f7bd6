"""The same weights each time, and one thread: tensors are small, and threads that wait for one another take minutes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def same_weights() -> None:
    """Models that a test builds start from the same weights each time."""
    torch.manual_seed(1)


@pytest.fixture(autouse=True, scope="package")
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
