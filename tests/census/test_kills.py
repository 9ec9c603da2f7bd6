"""A publication that is killed: its charge stays, nothing is drawn again for it, and what was stored is served free."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.privacy import to_json


def killed_at(folder: Path, points: int) -> list[dict[str, Any]]:
    environment = {**os.environ, "PYTHONPATH": str(Path(dp.__file__).parents[1])}
    command = [sys.executable, str(Path(__file__).with_name("killed.py")), str(folder), str(points)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3000, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("points", [4, pytest.param(200, marks=pytest.mark.soak)])
def test_a_publication_killed_at_any_point_costs_its_charge_and_is_never_drawn_again(
    tmp_path: Path, points: int
) -> None:
    """The request that was killed is sent twice again, and then twice as a new one."""
    outcomes = killed_at(tmp_path, points)
    assert len(outcomes) == points
    once, twice, dead = to_json(dp.rho(1)), to_json(dp.rho(2)), 0
    for each in outcomes:
        assert each["status"] == -9
        assert each["statuses"] == [0] * 4
        before, keyed, after = each["before"], each["keyed"], each["after"]
        first, second, third, fourth = (said["answer"] for said in each["asked"])
        drawn = [said["drawn"] for said in each["asked"]]
        assert first == second and third == fourth
        match before["kinds"]:
            case ["create"]:
                assert drawn == [1, 0, 0, 0]
                assert first == third
                assert after["kinds"] == ["create", "reserve", "release"]
                assert after["spent"] == once
            case ["create", "reserve"]:
                dead += 1
                assert drawn == [0, 0, 1, 0]
                assert "was charged and has no release" in first
                assert keyed == before
                assert before["spent"] == once
                assert after["kinds"] == ["create", "reserve", "reserve", "release"]
                assert after["spent"] == twice
            case ["create", "reserve", "release"]:
                assert drawn == [0, 0, 0, 0]
                assert first == third
                assert before == keyed == after
                assert after["spent"] == once
            case other:
                raise AssertionError(other)
    assert dead >= points / 6, "the kills were too gentle to mean anything"
