"""A look at which plan runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from discreet.engines.duckdb import _packed


@pytest.fixture
def spied() -> Callable[[pytest.MonkeyPatch], list[bool]]:
    """Whether each run from now on is packed; however few the rows are."""

    def spy_on(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
        used: list[bool] = []
        real = _packed.packed_groups

        def spy(*arguments: Any) -> Any:
            result = real(*arguments)
            used.append(result is not None)
            return result

        monkeypatch.setattr("discreet.engines.duckdb._engine.packed_groups", spy)
        monkeypatch.setattr(_packed, "_FEW", -1)
        return used

    return spy_on
