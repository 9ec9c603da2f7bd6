"""Files of models and checkpoints that somebody has spoilt, at random, and a watch that no code in them runs."""

from __future__ import annotations

import base64
import copy
import json
import random
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["damaged_bytes", "damaged_json", "damaged_numbers", "damaged_tensors", "watched", "written"]

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 2**31, 2**63, 2**70, 1e308, -1e308, 5e-324, 0.5, "", "x" * 100, "1/0", "NaN"),
    *("1e999999999", "__import__('os').system('false')", "os", "cos\nsystem\n(S'false'\ntR.", "\ud800", "\0", "1"),
    *([], {}, [[]], [None], {"": {}}, {"name": "search"}, [0] * 50, {"__reduce__": ["os.system", ["false"]]}),
)
NUMBERS = (1e308, -1e308, 1e300, 5e-324, 0.0, -0.0, 1.0, -1.0, 1e6, 1.5, 2.0**53, float("nan"), float("inf"))
EVENTS = (
    *("exec", "compile", "code.__new__", "pickle.find_class", "ctypes.dlopen", "subprocess.Popen", "socket.connect"),
    *("os.system", "os.exec", "os.fork", "os.posix_spawn"),
)
"""What Python tells a hook of when code is run; that of modules that are installed is the program's own."""

NESTED = "nested a thousand times"
"""What `written` replaces by lists in lists, which no encoder writes."""

_watching: list[list[str]] = []


def _seen(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching and event in EVENTS and not _is_installed(event, arguments):
        _watching[-1].append(f"{event} {arguments!r}"[:200])


sys.addaudithook(_seen)


def _is_installed(event: str, arguments: tuple[Any, ...]) -> bool:
    source = arguments[-1] if event == "compile" else getattr(arguments[0], "co_filename", None)
    return event in ("exec", "compile") and isinstance(source, str) and source.endswith(".py") and Path(source).exists()


@contextmanager
def watched() -> Iterator[list[str]]:
    """The events of code that was run inside, as text."""
    events: list[str] = []
    _watching.append(events)
    try:
        yield events
    finally:
        _watching.remove(events)


def damaged_bytes(payload: bytes, dice: random.Random) -> bytes:
    """One to three places changed, cut, repeated or filled with others."""
    changed = bytearray(payload)
    for _ in range(dice.randrange(1, 4)):
        if not changed:
            break
        place = dice.randrange(len(changed))
        match dice.randrange(6):
            case 0:
                changed[place] = dice.randrange(256)
            case 1:
                changed[place] ^= 1 << dice.randrange(8)
            case 2:
                del changed[place : place + dice.randrange(1, 40)]
            case 3:
                changed[place:place] = changed[place : place + dice.randrange(1, 40)]
            case 4:
                changed[place:place] = dice.randbytes(9)
            case _:
                del changed[place:]
    return bytes(changed)


def damaged_json(content: Any, dice: random.Random) -> Any:
    """One to three values replaced, left out, repeated, put elsewhere, or nested a thousand times."""
    content = copy.deepcopy(content)
    for _ in range(dice.randrange(1, 4)):
        places = list(_places(content))
        if not places:
            return dice.choice(VALUES)
        parent, key = dice.choice(places)
        match dice.randrange(8):
            case 0:
                del parent[key]
            case 1 if isinstance(parent, list):
                parent.append(parent[key])
            case 1:
                parent[dice.choice(["name", "bins", "values", "x", "__class__", "candidates"])] = parent[key]
            case 2:
                other, place = dice.choice(places)
                parent[key] = copy.deepcopy(other[place]) if place in _keys(other) else None
            case 3 if isinstance(parent[key], int | float):
                parent[key] = parent[key] * dice.choice([-1, 2, 0.5, 10**6]) + dice.choice([0, 1])
            case 4 if dice.random() < 0.2:
                parent[key] = NESTED
            case _:
                parent[key] = copy.deepcopy(dice.choice(VALUES))
    return content


def written(content: Any) -> bytes:
    """Damaged JSON as a file."""
    return json.dumps(content).replace(f'"{NESTED}"', "[" * 1_000 + "]" * 1_000).encode()


def _places(content: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of plain JSON, as what holds it and its key; small things come up more often than long lists."""
    for key in _keys(content):
        yield content, key
        yield from _places(content[key])


def _keys(content: Any) -> list[Any]:
    if isinstance(content, dict):
        return list(content)
    return list(range(min(len(content), 20))) if isinstance(content, list) else []


def damaged_numbers(text: str, dice: random.Random) -> str:
    """Float64 in base 64, some of them replaced by the most awkward ones."""
    numbers = np.frombuffer(base64.b64decode(text), "<f8").copy()
    for _ in range(dice.randrange(1, 6)):
        if len(numbers):
            numbers[dice.randrange(len(numbers))] = dice.choice(NUMBERS)
    if dice.random() < 0.1:
        numbers[:] = dice.choice(NUMBERS)
    return base64.b64encode(numbers.tobytes()).decode()


def damaged_tensors(payload: bytes, dice: random.Random) -> bytes:
    """A file of safetensors with a header that was changed, or with other numbers in its tensors."""
    (length,) = struct.unpack("<Q", payload[:8])
    head, data = json.loads(payload[8 : 8 + length]), bytearray(payload[8 + length :])
    if dice.random() < 0.5:
        head = damaged_json(head, dice)
    for _ in range(dice.randrange(4)):
        if len(data) >= 8:
            place = dice.randrange(0, len(data) - 7)
            number = dice.choice(NUMBERS)
            data[place - place % 4 : place - place % 4 + 4] = np.float32(min(max(number, -3e38), 3e38)).tobytes()
    text = written(head)
    text += b" " * (-len(text) % 8)
    shown = len(text) if dice.random() < 0.9 else dice.choice([0, 1, 2**40, 2**63, len(text) - 1])
    return struct.pack("<Q", shown) + text + bytes(data)
