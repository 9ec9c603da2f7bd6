"""Signatures: what they cover, and that nothing else passes."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from discreet.errors import LedgerError
from discreet.ledger.crypto._signing import certified, check_signature, fingerprint, new_key, public_key, sign

STATEMENT: dict[str, Any] = {
    "query": "SELECT 'é\ud800' -- \x00",
    "loss": {"kind": "pure", "epsilon": "1/10"},
    "levels": [{"l1": 10**40, "keys": [], "top_keys": None, "grouped": True}, -1],
}


def certificate(private: bytes | None = None) -> dict[str, Any]:
    return certified(
        STATEMENT,
        private=private or new_key(),
        code="1",
        ledger="00" * 32,
        account="ada",
        position="11" * 32,
        at=datetime(2026, 1, 31, 12, tzinfo=UTC),
    )


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, each in items:
            yield from places(each, (*path, name))


def test_a_signature_holds_and_says_who_signed() -> None:
    private = new_key()
    signed = certificate(private)
    assert check_signature(signed) == public_key(private)
    assert check_signature(signed, public_key(private).upper()) == public_key(private)
    assert {name: signed[name] for name in STATEMENT} == STATEMENT
    assert signed["at"] == "2026-01-31T12:00:00+00:00"
    assert check_signature(json.loads(json.dumps(signed))) == public_key(private)
    assert check_signature(dict(reversed(signed.items()))) == public_key(private)


def test_keys_are_fresh_and_those_of_rfc_8032() -> None:
    assert len({new_key() for _ in range(4)}) == 4
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    assert public_key(seed) == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert fingerprint(public_key(seed)) != fingerprint(public_key(bytes(32)))
    for wrong in (b"", bytes(31), bytes(33), "x" * 32, None):
        with pytest.raises(LedgerError, match="32 bytes"):
            public_key(wrong)  # type: ignore[arg-type]


def test_every_change_is_found() -> None:
    signed = certificate()
    changed = 0
    for path in places(signed):
        if not path:
            continue
        for new in ("x", 1, None, [], {}, True, "0" * 64, "0" * 128):
            other: Any = copy.deepcopy(signed)
            at = other
            for name in path[:-1]:
                at = at[name]
            if at[path[-1]] == new and type(at[path[-1]]) is type(new):
                continue
            at[path[-1]] = new
            with pytest.raises(LedgerError):
                check_signature(other)
            changed += 1
        if isinstance(path[-1], str):
            other = copy.deepcopy(signed)
            at = other
            for name in path[:-1]:
                at = at[name]
            at[path[-1] + "."] = at.pop(path[-1])
            with pytest.raises(LedgerError):
                check_signature(other)
    assert changed > 100


def test_another_key_is_told_apart() -> None:
    signed = certificate()
    with pytest.raises(LedgerError, match="you expect"):
        check_signature(signed, public_key(new_key()))
    swapped = {**signed, "signature": {**signed["signature"], "public_key": public_key(new_key())}}
    with pytest.raises(LedgerError, match="changed after"):
        check_signature(swapped)
    for wrong in ("", "zz", "é" * 64, "0" * 63):
        with pytest.raises(LedgerError, match="64 hexadecimal"):
            check_signature(signed, wrong)


def test_what_has_no_one_way_to_be_written_is_not_signed() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for value in (0.5, float("nan"), {1: 2}, b"", object(), {"a": {"b": 1.0}}, [1.5], deep):
        with pytest.raises(LedgerError, match="plain JSON"):
            sign({"value": value}, new_key())
        with pytest.raises(LedgerError, match="plain JSON"):
            check_signature({**certificate(), "value": value})


def test_what_is_no_certificate_is_refused_in_words() -> None:
    signed = certificate()
    for wrong in (None, [], "x", 1):
        with pytest.raises(LedgerError, match="JSON object"):
            check_signature(wrong)
    good = signed["signature"]
    for wrong in ({}, [], "x", {**good, "more": 1}, {**good, "value": 1}, {**good, "value": "0"}, {"algorithm": "x"}):
        with pytest.raises(LedgerError, match="malformed"):
            check_signature({**signed, "signature": wrong})
    with pytest.raises(LedgerError, match="no signature"):
        check_signature(STATEMENT)
    with pytest.raises(LedgerError, match="by 'RSA'"):
        check_signature({**signed, "signature": {**good, "algorithm": "RSA"}})


def test_a_statement_cannot_speak_for_the_ledger() -> None:
    terms = {"private": new_key(), "code": "1", "ledger": "0", "account": None, "position": "1"}
    for name in ("code", "ledger", "account", "position", "at", "signature"):
        with pytest.raises(LedgerError, match=name):
            certified({name: "x"}, at=datetime.now(UTC), **terms)
    with pytest.raises(LedgerError, match="time zone"):
        certified({}, at=datetime(2026, 1, 31), **terms)  # noqa: DTZ001
    with pytest.raises(LedgerError, match="signed already"):
        sign(certificate(), new_key())
