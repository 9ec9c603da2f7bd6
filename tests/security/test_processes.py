"""Processes that were forked or spawned share no noise, and a session in them still pays."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # forking is what is tested

POLICY = {
    "version": "1",
    "budget": {"epsilon": 1},
    "tables": {"t": {"unit": "rows", "columns": {"x": {"type": "int", "bounds": [0, 9]}}}},
}
TABLE = pa.table({"x": list(range(100))})
SPEND = dp.pure("1e-12")  # noise of 40 bits: three answers are different but for one time in 1e11


def in_child(work: Callable[[], Any]) -> Any:
    """What `work` returns, or the error it ends with, in a forked child, which is ended if it hangs."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(600)
        try:
            found = work()
        except dp.DiscreetError as error:
            found = error
        os.write(write, pickle.dumps(found))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as reader:
        told = reader.read()
    assert os.waitpid(child, 0)[1] == 0
    return pickle.loads(told)


@pytest.mark.sampled(every=3)
def test_mechanisms_in_forked_children_differ(case) -> None:
    """64 releases with as much noise as this agree by chance with probability below 2**−32."""
    mechanism = case.at(1000)
    case.draw(mechanism, case.worlds[0], 1)  # tables are made, and whatever else could be shared

    def work() -> str:
        return repr(case.draw(mechanism, case.worlds[0], 64))

    drawn = [work(), in_child(work), in_child(work), work()]
    assert len(set(drawn)) == 4


def test_a_session_goes_on_in_children_with_noise_of_their_own(tmp_path: Path) -> None:
    """Each asks another question of the same answer; all are paid for in one ledger, and a repeat is free anywhere."""
    with dp.connect({"t": TABLE}, POLICY, tmp_path / "t.ledger") as session:
        session.sql("SELECT SUM(x) AS s FROM t", SPEND)

        def ask(name: str) -> int:
            (row,) = session.sql(f"SELECT COUNT(*) AS {name} FROM t", SPEND).to_arrow().to_pylist()
            return row[name]

        told = [in_child(lambda: ask("a")), in_child(lambda: ask("b")), ask("c")]
        assert len(set(told)) == 3
        assert [ask("a"), ask("b"), in_child(lambda: ask("c"))] == told
        assert session.spent == dp.pure("4e-12")


def test_a_session_whose_ledger_a_child_would_copy_is_refused_there() -> None:
    """A budget in memory would be there twice."""
    with dp.connect({"t": TABLE}, POLICY) as session:

        def ask() -> object:
            return session.sql("SELECT COUNT(*) AS n FROM t", SPEND).to_arrow().to_pylist()

        assert "child process" in str(in_child(ask))
        assert ask()


def test_spawned_processes_differ() -> None:
    code = (
        "import discreet as dp\n"
        "print(dp.mechanisms.DiscreteLaplace(10**9).release([0] * 8))\n"
        "print(dp.mechanisms.Gaussian(10**9).release([0] * 8))\n"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=os.environ)
        for _ in range(2)
    ]
    one, other = (run.communicate()[0].splitlines() for run in runs)
    assert len({*one, *other}) == 4
