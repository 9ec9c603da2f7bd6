"""Words by pure-ldp, in its own environment: `python word_peers.py PROTOCOL`, JSON in and out.

Prefix extending with local hashing, which is its default, and the others with the sketches that their papers have.
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

    same: dict[str, Any] = {
        "epsilon": epsilon,
        "max_string_length": length,
        "fragment_length": 1,
        "alphabet": set(alphabet),
        "index_mapper": None if set(alphabet) == {"0", "1"} else lambda text: int.from_bytes(text.encode(), "big") + 1,
    }
    match protocol:
        case "prefix_extending":
            client, server = peer.PEMClient(start_length=0, **same), peer.PEMServer(start_length=0, **same)
            client.client = oracle.LHClient(epsilon, 4, use_olh=True, index_mapper=client.index_mapper)  # its own fails
            return client, server
        case "sequence_fragment_puzzle":
            server = oracle.CMSServer(epsilon, 256, 1024)
            client = oracle.CMSClient(epsilon, server.get_hash_funcs(), 1024)
            return (
                peer.SFPClient(fo_client=client, **{**same, "fragment_length": 2}),
                peer.SFPServer(fo_server=server, **{**same, "fragment_length": 2}),
            )
        case _:
            server = oracle.CMSServer(epsilon, 256, 1024, is_hadamard=True)
            client = oracle.CMSClient(epsilon, server.get_hash_funcs(), 1024, is_hadamard=True)
            return (
                peer.TreeHistClient(fo_client=client, **same),
                peer.TreeHistServer(fo_server=server, **same),
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
