"""Words by pure-ldp, in its own environment: `python word_peers.py PROTOCOL`, JSON in and out.

Each protocol with fast local hashing of 500 public functions inside, the only inner one that reads in less than hours;
the puzzle with the count-mean sketch that its paper has.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

warnings.filterwarnings("ignore")


def made(protocol: str, epsilon: float, length: int, alphabet: list[str]) -> tuple[Any, Any]:
    import pure_ldp.frequency_oracles as oracle
    import pure_ldp.heavy_hitters as peer

    match protocol:
        case "prefix_extending":
            client = oracle.FastLHClient(epsilon, 4, 500, use_olh=True)
            server = oracle.FastLHServer(epsilon, 4, 500, use_olh=True)
            return (
                peer.PEMClient(epsilon, 0, length, 1, alphabet=alphabet, fo_client=client),
                peer.PEMServer(epsilon, 0, length, 1, alphabet=alphabet, fo_server=server),
            )
        case "sequence_fragment_puzzle":
            server = oracle.CMSServer(epsilon / 2, 256, 1024)
            client = oracle.CMSClient(epsilon / 2, server.get_hash_funcs(), 1024)
            return (
                peer.SFPClient(epsilon, 2, length, alphabet=alphabet, fo_client=client),
                peer.SFPServer(epsilon, 2, length, alphabet=alphabet, fo_server=server),
            )
        case _:
            server = oracle.CMSServer(epsilon / 2, 256, 1024, is_hadamard=True)
            client = oracle.CMSClient(epsilon / 2, server.get_hash_funcs(), 1024, is_hadamard=True)
            return (
                peer.TreeHistClient(epsilon, 1, length, alphabet=alphabet, fo_client=client),
                peer.TreeHistServer(epsilon, 1, length, alphabet=alphabet, fo_server=server),
            )


def main() -> None:
    case = json.load(sys.stdin)
    client, server = made(sys.argv[1], case["epsilon"], case["length"], list(case["alphabet"]))
    client.privatise(case["words"][0])
    reports, start = [], time.process_time()
    for word in case["words"]:
        reports.append(client.privatise(word))
        if time.process_time() - start > case["seconds"]:
            break
    encoded = time.process_time()
    for report in reports:
        server.aggregate(report)
    added = time.process_time()
    found = server.find_heavy_hitters(k=10)
    if isinstance(found, tuple):
        found = found[0]
    names = [each[0] if isinstance(each, list | tuple) else each for each in found]
    told = {
        "people": len(reports),
        "client": len(reports) / (encoded - start),
        "server": len(reports) / (added - encoded),
        "read": time.process_time() - added,
        "bytes": "?",
        "found": [str(name).rstrip("*") for name in names],
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
