"""Outputs of a peer, in the peer's own environment: `python audit_peers.py PEER`, JSON in and out.

In: ``value``, ``size``, ``epsilon``. Out: so many ``outputs`` on the value, every bit of a float; and CPU ``seconds``.
"""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

Case = dict[str, Any]
DOMAIN = 2


def diffprivlib_laplace(case: Case) -> Iterable[float]:
    from diffprivlib.mechanisms import Laplace

    mechanism = Laplace(epsilon=case["epsilon"], sensitivity=1)
    return (mechanism.randomise(case["value"]) for _ in range(case["size"]))


def diffprivlib_geometric(case: Case) -> Iterable[float]:
    from diffprivlib.mechanisms import Geometric

    mechanism = Geometric(epsilon=case["epsilon"], sensitivity=1)
    return (mechanism.randomise(case["value"]) for _ in range(case["size"]))


def pure_ldp_he(case: Case) -> Iterable[list[float]]:
    from pure_ldp.frequency_oracles import HEClient

    client = HEClient(case["epsilon"], DOMAIN)
    return (client.privatise(case["value"] + 1).tolist() for _ in range(case["size"]))


def multi_freq_he(case: Case) -> Iterable[list[float]]:
    from multi_freq_ldpy.pure_frequency_oracles.HE import HE_Client

    return (HE_Client(case["value"], DOMAIN, float(case["epsilon"])).tolist() for _ in range(case["size"]))


def pure_ldp_pcs(case: Case) -> Iterable[float]:
    """The private count sketch's estimate of a share that is 1: everybody holds the same value."""
    from pure_ldp.frequency_oracles import PCSClient, PCSServer

    server = PCSServer(case["epsilon"], 16, 64, use_median=False)
    client = PCSClient(case["epsilon"], 16, 64, server.get_hash_funcs())
    for _ in range(case["size"]):
        server.aggregate(client.privatise(case["value"]))
    return [float(server.estimate(case["value"], suppress_warnings=True)) / case["size"]]


PEERS: dict[str, Callable[[Case], Iterable[Any]]] = {
    "diffprivlib Laplace": diffprivlib_laplace,
    "diffprivlib Geometric": diffprivlib_geometric,
    "pure-ldp HE": pure_ldp_he,
    "multi-freq-ldpy HE": multi_freq_he,
    "pure-ldp PCS": pure_ldp_pcs,
}


def main() -> None:
    warnings.simplefilter("ignore")
    case = json.load(sys.stdin)
    start = time.process_time()
    outputs = list(PEERS[sys.argv[1]](case))
    assert all(math.isfinite(each) for output in outputs for each in (output if isinstance(output, list) else [output]))
    print(json.dumps({"outputs": outputs, "seconds": time.process_time() - start}))


if __name__ == "__main__":
    main()
