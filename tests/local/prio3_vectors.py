"""The published vectors of the draft, and rows of bytes from hexadecimal digits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.two_servers.prio3 import Circuit, Count, Histogram, MultihotCountVec, Prio3, Sum, SumVec

VECTORS: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "vdaf_draft_20.json").read_text("utf-8"))

NAMES = [name for name in VECTORS if name.startswith("Prio3")]


def rows(texts: list[str]) -> NDArray[np.uint8]:
    return np.frombuffer(bytes.fromhex("".join(texts)), dtype=np.uint8).reshape(len(texts), -1)


def prio3_of(name: str) -> Prio3:
    vector, kind = VECTORS[name], name.removeprefix("Prio3").partition("_")[0]
    circuit: Circuit
    match kind:
        case "Count":
            circuit = Count()
        case "Sum":
            circuit = Sum(vector["max_measurement"])
        case "SumVec":
            circuit = SumVec(vector["length"], vector["max_measurement"], vector["chunk_length"])
        case "Histogram":
            circuit = Histogram(vector["length"], vector["chunk_length"])
        case _:
            circuit = MultihotCountVec(vector["length"], vector["max_weight"], vector["chunk_length"])
    return Prio3(circuit, bytes.fromhex(vector["ctx"]))
