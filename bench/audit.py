"""The auditor on our own mechanisms, and its power on one that is right and on two that are not.

    python bench/audit.py [--samples N] [--only NAME ...] [--no-exact] [--no-power] [--no-table] [--alarms 200]

First table: the ε that each mechanism and each SQL statistic claims on its worst pair of neighbours, what is certified
of it from outputs alone, and the true one on that pair, at the same δ; and the same in the unit of the claim (ε, δ, ρ
or μ) in which most of it is certified. The true one is by enumeration of the mechanism's own code, with
each sampler replaced by its law (tests/audit/door.py); — where that has too many branches. Where the
claim has a curve, ε is at a δ that makes the event frequent. The time is CPU time.

Second table: discrete Laplace noise on a grid of 2**20 steps to the sensitivity: certified ε for a right claim of
ε = 1, outputs until a scale of half, and of 0.8, is caught, and how often a right claim is called violated at 95 %
(at most 5 %: refuted only by a count that a binomial law of 5 % exceeds with probability 1e-9).
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from scipy.special import bdtrc

from discreet.audit.black_box._check import check
from discreet.audit.black_box._subject import batched
from discreet.audit.catalog._entries import Audited, entries, run_entries
from discreet.mechanisms import DiscreteLaplace
from discreet.privacy import pure

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "audit"))
import door

FINE = 2**20
BRANCHES = 60_000
MISS = Fraction(1, 10**9)
SECONDS = 10


class TooLong(Exception):
    pass


def true_epsilon(row: Audited) -> str:
    """By enumeration, both ways, over all pairs; or why not."""

    def stop(*_: object) -> None:
        raise TooLong

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        delta = str(row.verdict.delta)
        found = [
            door.exact_epsilon(row.entry.once, pair, delta, mass=1 - MISS, tail=MISS / 1000, limit=BRANCHES)
            for pair in row.entry.pairs
        ]
        return f"{max(found):.4f}"
    except TooLong:
        return "— too long"
    except door.NotEnumerable as error:
        return f"— {error}"
    except Exception as error:  # noqa: BLE001 (the reason goes into the table)
        return f"— {type(error).__name__}: {str(error)[:60]}"
    finally:
        signal.alarm(0)


def own(console: Console, only: list[str], samples: int | None, *, exact: bool) -> None:
    table = Table("mechanism", title="Our own mechanisms")
    for name in (
        "δ",
        "claimed ε",
        "certified ε",
        "true ε",
        "in",
        "claimed",
        "certified",
        "of it",
        "outputs",
        "seconds",
    ):
        table.add_column(name, justify="right", overflow="fold")
    for entry in entries():
        if only and entry.name not in only:
            continue
        [row] = run_entries([entry], samples=samples)
        verdict = row.verdict
        truth = true_epsilon(row) if exact else "—"
        unit, claimed, certified = verdict.nearest
        cells = [
            entry.name,
            f"{verdict.delta:.3g}",
            f"{verdict.claimed:.4f}",
            "VIOLATED" if verdict.violated else f"{verdict.epsilon_lower:.4f}",
            truth,
            unit,
            f"{claimed:.4g}",
            f"{certified:.4g}",
            f"{row.ratio:.2f}",
            f"{verdict.samples:,}",
            f"{row.seconds:.1f}",
        ]
        print("  ".join(cells), file=sys.stderr, flush=True)
        table.add_row(*cells)
    console.print(table)


def laplace(factor: float) -> Any:
    """ε = 1 on a grid of 2**20 steps, but for a factor in the scale."""
    noise = DiscreteLaplace(round(FINE * factor))
    return batched(lambda value, size: noise.release([value] * size))


def power(console: Console, alarms: int) -> None:
    table = Table("what", "outputs", "found", "CPU seconds", title="DiscreteLaplace on a fine grid, claimed ε = 1")
    pair, claim = [(0, FINE)], pure(1)
    for samples in (100_000, 1_000_000):
        start = time.process_time()
        verdict = check(laplace(1), pair, claim, samples=samples)
        spent = time.process_time() - start
        table.add_row("right", f"{samples:,}", f"certified ε = {verdict.epsilon_lower:.4f}", f"{spent:.1f}")
    for factor, samples in ((0.5, 10_000), (0.8, 100_000)):
        start = time.process_time()
        caught = sum(check(laplace(factor), pair, claim, samples=samples).violated for _ in range(20))
        spent = (time.process_time() - start) / 20
        table.add_row(f"scale × {factor}", f"{samples:,}", f"caught in {caught} of 20 runs", f"{spent:.2f}")
    if alarms:
        start = time.process_time()
        false = sum(check(laplace(1), pair, claim, samples=10_000).violated for _ in range(alarms))
        spent = (time.process_time() - start) / alarms
        likely = 1.0 if false == 0 else float(bdtrc(false - 1, alarms, 0.05))
        said = f"{false} false alarms in {alarms} runs; so many or more with probability {likely:.3g} at 5 %"
        table.add_row("right", "10,000", said, f"{spent:.2f}")
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--no-exact", action="store_true")
    parser.add_argument("--no-power", action="store_true")
    parser.add_argument("--no-table", action="store_true")
    parser.add_argument("--alarms", type=int, default=200)
    chosen = parser.parse_args()
    console = Console(width=150)
    if not chosen.no_power:
        power(console, chosen.alarms)
    if not chosen.no_table:
        own(console, chosen.only, chosen.samples, exact=not chosen.no_exact)


if __name__ == "__main__":
    main()
