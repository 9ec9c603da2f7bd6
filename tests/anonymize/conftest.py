from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest


def random_table(draws: np.random.Generator, rows: int) -> pa.Table:
    """Ages, towns and trades that hang together, and an illness."""
    age = draws.integers(18, 18 + int(draws.integers(2, 60)), rows)
    town = draws.integers(0, int(draws.integers(1, 9)), rows) * (age > 30)
    trade = (age // 7 + draws.integers(0, 3, rows)) % int(draws.integers(1, 12))
    illness = draws.integers(0, int(draws.integers(2, 6)), rows)
    return pa.table(
        {
            "age": age,
            "town": [f"t{each}" for each in town],
            "trade": [f"b{each}" for each in trade],
            "illness": [f"i{each}" for each in illness],
            "cost": draws.integers(0, 9, rows),
        }
    )


@pytest.fixture
def table() -> pa.Table:
    return random_table(np.random.default_rng(7), 400)
