"""Certified accounting: our bracket and CPU time, next to dp-accounting and prv-accountant in the same run.

    python bench/accounting.py [--install-peers] [--quick]

Each measurement is a process of its own, imports not timed. Ours comes three times: both ends at a relative gap of
1e-3; beside dp-accounting, which has an upper end only, `Loss.epsilon`; and beside prv-accountant, both ends at the
absolute gap that it was asked for. Peers run in bench/.venvs/acct where it exists.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from pathlib import Path
from typing import Any

from peering import HERE, asked, install, python_of

PEERS = "acct"
LIMIT_SECONDS = 75
PRV_GAP = 0.02  # ±0.01, the setting of its paper


def part(kind: str, noise: float, count: int = 1, rate: float = 1) -> dict[str, Any]:
    return {"kind": kind, "noise": noise, "count": count, "rate": rate}


def mixed(size: int) -> list[dict[str, Any]]:
    draw = random.Random(0)
    kinds = ["gaussian"] * (size // 2) + ["laplace"] * (size - size // 2)
    return [part(kind, draw.uniform(100, 300)) for kind in kinds]


def dpsgd(rate: float, noise: float, steps: int, delta: float) -> tuple[str, list[dict[str, Any]], float]:
    return f"DP-SGD q={rate:g} σ={noise:g} T={steps:g} δ={delta:g}", [part("gaussian", noise, steps, rate)], delta


QUICK = [
    dpsgd(0.01, 1, 1_000, 1e-5),
    dpsgd(0.01, 1, 10_000, 1e-5),
    dpsgd(0.1, 5, 10_000, 1e-6),
    dpsgd(1e-3, 0.6, 10_000, 1e-6),
    dpsgd(1e-5, 1, 100_000, 1e-8),
    dpsgd(0.01, 1, 1_000, 1e-25),
    ("Laplace b=10 ×100 δ=1e-06", [part("laplace", 10, 100)], 1e-6),
    ("half Gaussian, half Laplace, n=100", mixed(100), 1e-6),
]
LONG = [
    ("half Gaussian, half Laplace, n=1,000", mixed(1_000), 1e-6),
    ("half Gaussian, half Laplace, n=10,000", mixed(10_000), 1e-6),
]


def measure_ours(case: dict[str, Any]) -> dict[str, Any]:
    """In a process of its own; a first small composition pays for imports."""
    from discreet.privacy import Loss, gaussian, laplace

    def loss_of(each: dict[str, Any]) -> Loss:
        leaf = gaussian(each["noise"]) if each["kind"] == "gaussian" else laplace(each["noise"])
        return each["count"] * (leaf if each["rate"] == 1 else leaf.sampled(each["rate"]))

    (10 * gaussian(3).sampled(0.5) + laplace(3)).bounds(delta=1e-3)
    (10 * gaussian(3).sampled(0.5) + laplace(3)).epsilon(delta=1e-3)
    start = time.process_time()
    loss = sum(map(loss_of, case["parts"]), start=0 * gaussian(1))
    gap = case.get("gap")
    found = [loss.epsilon(case["delta"])] if gap is None else list(loss.bounds(delta=case["delta"], gap=gap))
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"epsilon": found, "seconds": seconds, "peak_mib": peak}


def shown(result: dict[str, Any] | None) -> str:
    if result is None:
        return f"failed, or not in {LIMIT_SECONDS} s"
    ends = " to ".join(f"{end:.5f}" for end in result["epsilon"])
    return f"{ends:<22}{result['seconds']:8.3f} s {result['peak_mib']:5.0f} MiB"


def compared(name: str, parts: list[dict[str, Any]], delta: float, *, peers: bool) -> None:
    ours = [sys.executable, str(Path(__file__)), "--one"]
    fine = asked(ours, {"parts": parts, "delta": delta, "gap": 1e-3}, LIMIT_SECONDS)
    print(f"{name}\n  discreet, gap 1e-3        {shown(fine)}", flush=True)
    if not peers:
        return
    theirs = [str(python_of(PEERS)), str(HERE / "peers" / "accounting_peers.py")]
    dpa = asked([*theirs, "dp-accounting"], {"parts": parts, "delta": delta}, LIMIT_SECONDS)
    upper = asked(ours, {"parts": parts, "delta": delta}, LIMIT_SECONDS)
    print(f"  discreet, upper end alone {shown(upper)}")
    note = ""
    if fine and upper and dpa:
        excess = dpa["epsilon"][0] / upper["epsilon"][0]
        note = f"  {dpa['seconds'] / upper['seconds']:.1f}× our time; its ε is {excess:.6f}× ours"
        if dpa["epsilon"][0] < fine["epsilon"][0]:
            note += ", BELOW the truth"
    print(f"  dp-accounting, default    {shown(dpa)}{note}", flush=True)
    prv = asked([*theirs, "prv-accountant"], {"parts": parts, "delta": delta, "gap": PRV_GAP}, LIMIT_SECONDS)
    relative = min(1.0, PRV_GAP / max(fine["epsilon"][1], 1e-12)) if fine else 0.01
    same = asked(ours, {"parts": parts, "delta": delta, "gap": relative}, LIMIT_SECONDS)
    ratio = f"  {prv['seconds'] / same['seconds']:.1f}× our time" if same and prv else ""
    print(
        f"  discreet, gap {PRV_GAP:<12g}{shown(same)}\n  prv-accountant, gap {PRV_GAP:<6g}{shown(prv)}{ratio}",
        flush=True,
    )


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure_ours(json.load(sys.stdin))))
        return
    if "--install-peers" in sys.argv:
        install(PEERS, "accounting.txt")
    peers = python_of(PEERS).exists()
    if not peers:
        print("no peers: python bench/accounting.py --install-peers makes their environment\n")
    for name, parts, delta in QUICK if "--quick" in sys.argv else QUICK + LONG:
        compared(name, parts, delta, peers=peers)


if __name__ == "__main__":
    main()
