"""Modules beside the tests can be imported by their names; torch has one thread."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Tensors are small, and threads that wait for one another take minutes."""
    torch = sys.modules.get("torch")
    if torch is None:  # tests that need it have imported it
        yield
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
