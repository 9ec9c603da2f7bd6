"""Words that nobody listed, beside pure-ldp: recall of the ten most frequent, precision, and rates a CPU second.

    python bench/local_frequencies.py --install-peers      # once, into bench/.venvs/local
    python bench/words.py [--people 1000000] [--words 2000] [--epsilon 4] [--letters 10] [--alphabet abc] [--fixed]

A list of words of 3 letters or more, said as Zipf has it (exponent 1.1). "of 10" are how many of the ten most frequent
are found at all, and among the best ten; precision is the share of what is found that anybody said. pure-ldp makes and
adds reports one at a time, in a process of its own, as many as its seconds allow, and is told to find ten words; it
finds no word shorter than the longest, and its prefix extending needs memory for every word of the alphabet.
"""

from __future__ import annotations

import argparse
import string
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from discreet import local
from peering import asked, python_of

PEERS = "local"
OURS: dict[str, Callable[..., Any]] = {
    "prefix_extending": local.PrefixExtending,
    "tree_hist": local.TreeHist,
    "sequence_fragment_puzzle": local.SequenceFragmentPuzzle,
}


def word_list(size: int, letters: int, alphabet: str, shortest: int = 3) -> list[str]:
    draw = np.random.default_rng(11)
    found: dict[str, None] = {}
    while len(found) < size:
        found["".join(draw.choice(list(alphabet), size=draw.integers(shortest, letters + 1)))] = None
    return list(found)


def said(words: list[str], people: int) -> list[str]:
    weights = 1 / np.arange(1, len(words) + 1) ** 1.1
    counts = np.rint(people * weights / weights.sum()).astype(int)
    everybody = [word for word, count in zip(words, counts.tolist(), strict=True) for _ in range(count)]
    np.random.default_rng(12).shuffle(everybody)
    return everybody


def ours(scheme: Any, people: list[str]) -> dict[str, Any]:
    start = time.process_time()
    reports = scheme.simulate(people)
    encoded = time.process_time()
    server = scheme.server().add(reports)
    added = time.process_time()
    found = server.estimate()
    return {
        "people": len(people),
        "client": len(people) / (encoded - start),
        "server": len(people) / (added - encoded),
        "read": time.process_time() - added,
        "bytes": reports.width,
        "found": list(found.words),
    }


def line(name: str, who: str, told: dict[str, Any], words: list[str]) -> str:
    best, found = set(words[:10]), told["found"]
    right = len(set(found) & set(words)) / max(len(found), 1)
    return (
        f"{name:<26}{who:<10}{told['people']:>10,}{told['client']:>12,.0f}{told['server']:>12,.0f}{told['bytes']:>7}"
        f"{told['read']:>8.1f}{len(found):>7}{len(best & set(found)):>8}{len(best & set(found[:10])):>8}{right:>11.2f}"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--people", type=int, default=1_000_000)
    options.add_argument("--words", type=int, default=2000)
    options.add_argument("--epsilon", type=float, default=4)
    options.add_argument("--letters", type=int, default=10, help="the longest word")
    options.add_argument("--alphabet", default=string.ascii_lowercase)
    options.add_argument("--bytes", action="store_true", help="schemes without an alphabet")
    options.add_argument("--fixed", action="store_true", help="all words of that length, as pure-ldp needs them")
    options.add_argument("--seconds", type=float, default=60, help="what a peer's clients may take")
    options.add_argument("--only", nargs="+", default=list(OURS), choices=list(OURS))
    given = options.parse_args()
    words = word_list(given.words, given.letters, given.alphabet, given.letters if given.fixed else 3)
    people = said(words, given.people)
    alphabet = None if given.bytes else given.alphabet
    print(
        f"{'protocol':<26}{'who':<10}{'people':>10}{'client/s':>12}{'server/s':>12}{'bytes':>7}{'read s':>8}"
        f"{'found':>7}{'of 10':>8}{'in best':>8}{'precision':>11}"
    )
    peers = python_of(PEERS).exists()
    if not peers:
        print("no peers: python bench/local_frequencies.py --install-peers makes their environment", file=sys.stderr)
    script = str(Path(__file__).parent / "peers" / "word_peers.py")
    for name in given.only:
        told = ours(OURS[name](given.epsilon, length=given.letters, alphabet=alphabet), people)
        print(line(name, "discreet", told, words), flush=True)
        case = {
            "words": people,
            "length": given.letters,
            "alphabet": given.alphabet,
            "epsilon": given.epsilon,
            "seconds": given.seconds,
        }
        other = asked([str(python_of(PEERS)), script, name], case, 10 * given.seconds) if peers else None
        if other is not None:
            print(line("", "pure-ldp", other, words), flush=True)
        elif peers:
            print(f"{'':<26}pure-ldp  no answer in {10 * given.seconds:.0f} s")


if __name__ == "__main__":
    main()
