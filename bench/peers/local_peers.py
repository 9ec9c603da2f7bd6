"""One measurement by a peer, in the peer's own environment: `python local_peers.py PEER PROTOCOL`, JSON in and out.

The case has values 0 … d − 1, d, ε, and the seconds that clients and servers may take: reports are made one at a time,
as these libraries do, until the time is over, and then added up one at a time, until the time is over.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

warnings.filterwarnings("ignore")

Client = Callable[[int], Any]


def of_pure_ldp(protocol: str, d: int, epsilon: float) -> tuple[Client, Any]:
    import pure_ldp.frequency_oracles as peer

    match protocol:
        case "kary":
            client, server = peer.DEClient(epsilon, d), peer.DEServer(epsilon, d)
        case "symmetric_unary":
            client, server = peer.UEClient(epsilon, d), peer.UEServer(epsilon, d)
        case "optimized_unary":
            client, server = peer.UEClient(epsilon, d, use_oue=True), peer.UEServer(epsilon, d, use_oue=True)
        case "local_hashing":
            client, server = peer.LHClient(epsilon, d, use_olh=True), peer.LHServer(epsilon, d, use_olh=True)
        case "local_hashing, public keys":
            client = peer.FastLHClient(epsilon, d, 500, use_olh=True)
            server = peer.FastLHServer(epsilon, d, 500, use_olh=True)
        case "hadamard":
            server = peer.HadamardResponseServer(epsilon, d)
            client = peer.HadamardResponseClient(epsilon, d, server.get_hash_funcs())
        case "count_mean" | "hadamard_count_mean":
            flag = protocol == "hadamard_count_mean"
            server = peer.CMSServer(epsilon, 256, 1024, is_hadamard=flag)
            client = peer.CMSClient(epsilon, server.get_hash_funcs(), 1024, is_hadamard=flag)
        case _:
            raise ValueError(protocol)
    return (lambda value: client.privatise(value + 1)), server


def of_multi_freq(protocol: str, d: int, epsilon: float) -> tuple[Client, Callable[[Sequence[Any]], Any]]:
    from multi_freq_ldpy.pure_frequency_oracles import GRR, LH, SS, UE

    match protocol:
        case "kary":
            return (lambda v: GRR.GRR_Client(v, d, epsilon)), (lambda r: GRR.GRR_Aggregator_MI(r, d, epsilon))
        case "symmetric_unary" | "optimized_unary":
            flag = protocol == "optimized_unary"
            return (lambda v: UE.UE_Client(v, d, epsilon, flag)), (lambda r: UE.UE_Aggregator_MI(r, epsilon, flag))
        case "local_hashing":
            flags = {"optimal": True}
            return (lambda v: LH.LH_Client(v, d, epsilon, **flags)), (
                lambda r: LH.LH_Aggregator_MI(r, d, epsilon, **flags)
            )
        case "subset_selection":
            return (lambda v: SS.SS_Client(v, d, epsilon)), (lambda r: SS.SS_Aggregator_MI(r, d, epsilon))
        case _:
            raise ValueError(protocol)


def size_of(report: Any) -> int:
    if isinstance(report, np.ndarray):
        return report.nbytes
    return sum(map(size_of, report)) if isinstance(report, list | tuple) else 8


def main() -> None:
    peer, protocol = sys.argv[1:3]
    case = json.load(sys.stdin)
    values, d, epsilon, seconds = case["values"], case["d"], case["epsilon"], case["seconds"]
    client, server = (of_pure_ldp if peer == "pure-ldp" else of_multi_freq)(protocol, d, epsilon)
    client(values[0])  # what is compiled on the first call
    reports, start = [], time.process_time()
    for value in values:
        reports.append(client(value))
        if time.process_time() - start > seconds:
            break
    encoding = (time.process_time() - start) / len(reports)
    start = time.process_time()
    if peer == "pure-ldp":
        added = 0
        for report in reports:
            server.aggregate(report)
            added += 1
            if time.process_time() - start > seconds:
                break
        adding = (time.process_time() - start) / added
        estimate = np.array(server.estimate_all(range(1, d + 1), suppress_warnings=True)) / added
    else:
        server(reports[:20])
        start = time.process_time()
        server(reports[:20])
        added = int(min(len(reports), max(20, seconds / ((time.process_time() - start) / 20))))
        start = time.process_time()
        estimate = np.array(server(reports[:added]))
        adding = (time.process_time() - start) / added
    truth = np.bincount(values[:added], minlength=d) / added
    found = {
        "client": 1 / encoding,
        "server": 1 / adding,
        "bytes": size_of(reports[0]),
        "error": float(np.mean((estimate - truth) ** 2)) * added,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
