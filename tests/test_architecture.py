"""ARCHITECTURE.md names what is there: every floor, every room and every file."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
HOUSE = ROOT / "src" / "discreet"


def test_every_floor_is_there_in_its_order() -> None:
    rows = re.findall(r"^\| (\d+) \| (.+?) \|", PAGE, re.MULTILINE)
    floors = [frozenset(re.findall(r"`(\w+)`", names)) for _, names in rows]
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ][0]
    assert floors == [frozenset(re.split(r"\s*\|\s*", layer)) for layer in contract["layers"]]
    assert [int(number) for number, _ in rows] == list(reversed(range(len(rows))))


def test_every_room_is_there() -> None:
    rooms = re.findall(r"^    (\w+)/ +(.*)$", PAGE, re.MULTILINE)
    assert len(rooms) == 13
    for package, text in rooms:
        folders = {path.name for path in (HOUSE / package).iterdir() if (path / "__init__.py").exists()}
        assert set(re.findall(r"(\w+)/", text)) == folders, package


def test_every_file_is_there() -> None:
    paths = {path for path in re.findall(r"`([\w/.*]+/[\w.*]*)`", PAGE) if "*" not in path}
    assert len(paths) > 20
    missing = {path for path in paths if not any((root / path).exists() for root in (ROOT, HOUSE, HOUSE / "query"))}
    assert missing == set()
