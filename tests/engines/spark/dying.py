"""A JVM that is killed in the middle of a query; prints what the engine said, as far as tests want to know."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import psutil

from discreet.engines.spark import Spark, session_of
from discreet.errors import DataError
from discreet.policy import load_policy
from discreet.query import make_plan


def main() -> None:
    session: Any = session_of("spark://local[1]")
    session.range(10**12).selectExpr("id AS u", "id % 5 AS x").createOrReplaceTempView("t")
    columns = {"x": {"type": "int", "bounds": [0, 9]}}
    policy = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": columns}}})
    engine = Spark(session, policy)
    engine.check("t")
    bounded = make_plan("SELECT SUM(x) AS s FROM t", policy).levels[0].bounded
    threading.Thread(target=_kill, args=(session,), daemon=True).start()
    try:
        engine.run(bounded, bytes(16))
    except DataError as error:
        print("killed:", "gone" in str(error) and "stays spent" in str(error), error.__context__ is None)
    try:
        engine.run(bounded, bytes(16))
    except DataError as error:
        print("afterwards:", "Start another" in str(error) and "stays spent" in str(error), flush=True)
    os._exit(0)  # pyspark would ask the JVM to stop


def _kill(session: Any) -> None:
    """Once tasks of the query run."""
    tracker = session.sparkContext.statusTracker()
    while not any(tracker.getStageInfo(stage).numActiveTasks for stage in tracker.getActiveStageIds()):
        time.sleep(0.05)
    for child in psutil.Process().children(recursive=True):
        if "java" in child.name():
            os.kill(child.pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
