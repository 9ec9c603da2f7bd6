"""Histograms that are seen whole show most of their loss; mistakes in them are in `tests/census/test_histograms.py`."""

from __future__ import annotations

import pytest

from discreet.audit.catalog._entries import run_entries

pytestmark = pytest.mark.usefixtures("one_database")


@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "samples", "least"),
    [("Histogram for ranges", 40_000, 0.7), ("Histogram by a private partition", 20_000, 0.35)],
)
def test_a_histogram_that_is_seen_whole_shows_most_of_its_loss(name: str, samples: int, least: float) -> None:
    """Certified at a confidence of 1 − 1e-9, of ε = 1. The second is slow: its outputs are few."""
    [seen] = run_entries([name], samples=samples, confidence=1 - 1e-9)
    assert not seen.violated
    assert seen.ratio >= least, seen.verdict.sentence
