"""CPU of one query of PostgreSQL's catalogue, over all that clients were seen to send.

    python bench/catalogue.py

Prints the median, the 95th percentile and the most of CPU milliseconds, each query the best of three, with what takes
longest; and what a catalogue takes to make, in seconds and MiB.
"""

from __future__ import annotations

import resource
import statistics
import sys
import time
from pathlib import Path

from discreet.policy import load_policy
from discreet.server.postgres.catalogue import Catalogue

sys.path.append(str(Path(__file__).parents[1] / "tests/server/postgres/catalogue"))
from recorded import OBJECTS, POLICY, answers, recorded


def main() -> None:
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    catalogue = Catalogue("clinic", load_policy(POLICY), "alice")
    made = time.process_time() - started
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    objects = catalogue.answer(OBJECTS)
    assert objects is not None
    numbers = {row["name"]: row["oid"] for row in objects.to_pylist()}
    taken = list[tuple[float, str]]()
    for query in recorded():
        if "error" in answers(query.client)[query.number]:
            continue
        text, parameters = query.numbered(numbers)
        best = float("inf")
        for _ in range(3):
            started = time.process_time()
            catalogue.answer(text, parameters)
            best = min(best, time.process_time() - started)
        taken.append((best * 1000, f"{query.client} {query.number}"))
    catalogue.close()
    times = sorted(time for time, _ in taken)
    print(
        f"{len(times)} queries: median {statistics.median(times):.1f} ms CPU, "
        f"95 % within {times[int(len(times) * 0.95)]:.1f}, most {times[-1]:.1f}"
    )
    print("longest:", ", ".join(f"{name} ({time:.0f})" for time, name in sorted(taken)[:-6:-1]))
    print(f"to make: {made:.2f} s CPU, {memory:.0f} MiB")


if __name__ == "__main__":
    main()
