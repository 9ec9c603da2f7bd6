"""What stored files are held to, whatever is in them."""

from __future__ import annotations

import hashlib
from pathlib import Path

from discreet.ledger import open_ledger, verify_release
from discreet.release import parse_release_file


def check_verified(file: Path, ledger: Path) -> None:
    """A release verifies against a copy of its ledger."""
    with open_ledger(ledger) as owner:
        results = list(verify_release(parse_release_file(file.read_bytes()), owner.facts.public_key, owner))
    assert {each.name for each in results if each.result == "good"} >= {"signature", "answer", "loss", "charge"}
    assert not [each.name for each in results if each.result == "bad"]


def digest_of(folder: Path) -> str:
    """Of all files with their names: nobody made them anew to mend a test."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
