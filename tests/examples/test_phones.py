"""The example of simulated phones, as a person runs it, with fewer of them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from discreet import local
from discreet.server.collector import read_store

PHONES = Path(__file__).parents[2] / "examples" / "phones"


def ran(home: Path, *words: str, code: int = 0) -> str:
    command = [sys.executable, str(PHONES), "--keep", str(home), *words]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def figures_of(home: Path) -> dict[str, Any]:
    return json.loads((home / "figures.json").read_text(encoding="utf-8"))


def held(told: dict[str, Any], name: str, low: Any, high: Any) -> list[str]:
    """Whose interval does not hold the truth."""
    names = [row[name] for row in told["estimates"]]
    shares = [told["truth"].get(each, 0) / told["reports"] for each in names]
    return [n for n, a, share, b in zip(names, low, shares, high, strict=True) if not a <= share <= b]


def test_phones_report_and_the_truth_is_found(tmp_path: Path) -> None:
    """Counts are exact. What is random fails a right program at most once in 10⁹ runs.

    Each of 374 exact intervals misses with 1e-13 at most: 4e-11 in all. A word that nobody typed is found with 1e-10 at
    most, in the model of proofs/words.md. The most frequent word, with 15 % of at least 1,900 people at each step and
    of 9,500 at the last, stands 10 standard errors or more above what it has to beat; by Bennett's inequality it is
    missed with less than 1e-15.
    """
    said = ran(tmp_path / "kept", "--phones", "30000", "--senders", "1")
    figures = figures_of(tmp_path / "kept")
    emoji, words = figures["emoji"], figures["words"]
    for told, width in ((emoji, 2), (words, 3)):
        assert (told["reports"], told["rejected"], told["width"]) == (30_000, 0, width)
        assert (told["batches"], told["repeats"], sum(told["truth"].values())) == (303, 30, 30_000)
    assert figures["once"] == 6 and figures["year"] == 2190

    server = read_store(tmp_path / "kept" / "emoji.store")
    assert held(emoji, "value", *server.estimate().interval(1 - 1e-13)) == []

    server = read_store(tmp_path / "kept" / "words.store")
    document = json.loads((tmp_path / "kept" / "words.json").read_text())
    strict = local.from_json(json.dumps(document | {"false_words": "1/10000000000"}))
    found = strict.read(server.counts, server.reports, None).words
    assert set(found) <= words["truth"].keys()
    assert found[0] == "you" == words["estimates"][0]["word"]

    assert "30,000 phones reported" in said and "it would be 2,190 in a year" in said
    for question in ("emoji", "words"):
        assert "<svg" in (tmp_path / "kept" / f"{question}.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("words", [["--phones", "0"], []], ids=["nobody", "there"])
def test_what_cannot_be_is_refused(tmp_path: Path, words: list[str]) -> None:
    home = tmp_path / "new" if words else tmp_path
    assert "must be 1 or more" in (said := ran(home, *words, code=2)) or "is there already" in said
    assert not (home / "figures.json").exists()


@pytest.mark.parametrize("how", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.soak)])
def test_whoever_stops_it_stops_its_collectors(tmp_path: Path, how: signal.Signals) -> None:
    """Once phones may report. The end of file on stderr says that no process is left that it started."""
    home = tmp_path / "kept"
    command = [sys.executable, str(PHONES), "--keep", str(home), "--phones", "10000000"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    while not (home / "words.store").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(how)
    _, said = process.communicate()
    assert (process.returncode, said) == (130, "")
    assert not (home / "figures.json").exists()
