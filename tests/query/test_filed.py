"""Files of releases: what is known of them from their bytes, and that no file can do more than be refused."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import DataError, DiscreetError, LedgerError, ParameterError
from discreet.ledger.crypto._signing import check_signature
from discreet.mechanisms import DiscreteLaplace
from discreet.release import parse_release_file, verify_loss

POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 100},
    "tables": {
        "t": {
            "unit": "who",
            "max_rows": 2,
            "columns": {
                "k": {"type": "string", "keys": ["a", "b"]},
                "x": {"type": "float", "bounds": [0, 10]},
                "day": {"type": "date", "keys": ["2026-01-31", "2026-02-01"]},
            },
        }
    },
}
ROWS = pa.table({"who": [1, 1, 2, 3], "k": ["a", "b", "a", None], "x": [1.0, 2.0, 30.0, None], "day": [None] * 4})
ROWS = ROWS.set_column(3, "day", ROWS.column("day").cast(pa.date32()))
QUERY = "SELECT k, day, COUNT(*) AS n, AVG(x) AS a, MEDIAN(x) AS m, SUM(x) / 0 AS z FROM t GROUP BY k, day"


@pytest.fixture(scope="module")
def released() -> dict[str, Any]:
    with dp.connect({"t": ROWS}, POLICY) as session:
        return {
            "query": session.sql(QUERY, dp.pure(1), bias=False),
            "bias": session.sql("SELECT SUM(x) AS s FROM t", dp.pure(1), bias=True),
            "suggestion": session.suggest("t", "x", dp.pure(1)),
            "mechanism": session.release(DiscreteLaplace(4), [1, 10**30], sensitivity=1),
        }


@pytest.mark.parametrize("kind", ["query", "bias", "suggestion", "mechanism"])
def test_every_kind_is_known_again(kind: str, released: dict[str, Any]) -> None:
    release = released[kind]
    filed = parse_release_file(release.to_bytes())
    assert filed.kind == filed.certificate["kind"]
    assert filed.certificate == json.loads(json.dumps(release.certificate))
    assert filed.digests == {name: filed.certificate[name] for name in filed.digests}
    assert filed.loss == filed.certificate["loss"]
    check_signature(filed.certificate)
    assert verify_loss(filed.certificate) is None
    alone = parse_release_file(json.dumps(release.certificate).encode())
    assert alone.bare and alone.certificate == filed.certificate


def test_a_doctored_number_is_found(released: dict[str, Any]) -> None:
    release = released["query"]
    payload = release.to_bytes()
    with pa.ipc.open_stream(payload) as stream:
        table = stream.read_all()
    found = 0
    for i, field in enumerate(table.schema):
        values = table.column(i).to_pylist()
        if values[0] is None or not isinstance(values[0], int | float):
            continue
        values[0] = 12_345 if isinstance(values[0], int) else 12_345.5
        other = table.set_column(i, field, pa.array(values, field.type))
        filed = parse_release_file(_stream(other.replace_schema_metadata(table.schema.metadata)))
        wrong = [name for name, digest in filed.digests.items() if digest != filed.certificate[name]]
        assert "error_bars" in wrong, field
        found += "answer" in wrong
    assert found >= 2
    about = json.loads(table.schema.metadata[b"discreet"])
    about["shapes"]["n"]["cap"] = 0.0
    filed = parse_release_file(_stream(table.replace_schema_metadata({"discreet": json.dumps(about)})))
    assert filed.digests["answer"] == filed.certificate["answer"]
    assert filed.digests["error_bars"] != filed.certificate["error_bars"]
    for kind in ("suggestion", "mechanism"):
        content = json.loads(released[kind].to_bytes())
        content["value" if kind == "mechanism" else "max_rows"] = 77
        filed = parse_release_file(json.dumps(content).encode())
        assert filed.digests["answer"] != filed.certificate["answer"]


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def test_certificates_hold_no_floats_and_releases_read_them_back(released: dict[str, Any]) -> None:
    def floats(value: Any) -> bool:
        if isinstance(value, dict | list):
            return any(map(floats, value.values() if isinstance(value, dict) else value))
        return isinstance(value, float)

    assert not any(floats(json.loads(json.dumps(each.certificate))) for each in released.values())
    assert isinstance(released["query"].rank_error("m"), float)
    (first, *_) = released["bias"].bias("s")
    assert isinstance(first.estimate, float) and first.error > 0
    read_off = released["query"].certificate["columns"]
    assert [name for name, each in read_off.items() if each["quantile"]] == ["m"]
    measured = released["query"].certificate["levels"][0]["measures"]
    assert [measured[i]["of"] for i in read_off["a"]["measures"]] == ["Sum", "Count"]
    assert [measured[i]["of"] for i in read_off["n"]["measures"]] == ["Count"]


def _of_query(fields: bytes) -> bytes:
    return b'{"certificate": {"kind": "query"}, "loss": 1, ' + fields + b"}"


def _deep(levels: int) -> bytes:
    return b'{"certificate": ' + b"[" * levels + b"]" * levels + b', "loss": 1}'


HOSTILE: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda _: b"",
    "null": lambda _: b"null",
    "a list": lambda _: b"[]",
    "text": lambda _: b'"x"',
    "no certificate": lambda _: b"{}",
    "not UTF-8": lambda _: b'{"certificate": "\xff"}',
    "deep": lambda _: _deep(10**6),
    "a long number": lambda _: b'{"certificate": {"kind": "query"}, "loss": ' + b"9" * 10**5 + b"}",
    "two of one name": lambda _: (
        b'{"certificate": {"kind": "mechanism"}, "certificate": {"kind": "mechanism"}, "loss": 1, "value": 1}'
    ),
    "rows that are no table": lambda _: (
        b'{"certificate": {"kind": "query"}, "loss": 1, "columns": ["a"], "rows": [[1, 2]]}'
    ),
    "rows that are no rows": lambda _: _of_query(b'"columns": 3, "rows": 4'),
    "no stream": lambda _: b"\xff\xff\xff\xff" + bytes(64),
    "a huge length": lambda _: b"\xff\xff\xff\xff\xff\xff\xff\x7f" + bytes(64),
    "half": lambda payload: payload[: len(payload) // 2],
    "no end": lambda payload: payload[:-30],
    "another stream": lambda _: _stream(pa.table({"a": [1]})),
    "metadata of nothing": lambda _: _stream(pa.table({"a": [1]}).replace_schema_metadata({"discreet": "{}"})),
    "metadata that is deep": lambda _: _stream(
        pa.table({"a": [1]}).replace_schema_metadata({"discreet": _deep(10**6)})
    ),
    "more columns than there are": lambda _: _stream(
        pa.table({"a": [1]}).replace_schema_metadata({"discreet": _of_query(b'"columns": ["a", "b"]')})
    ),
    "names that are none": lambda _: _stream(
        pa.table({"a": [1]}).replace_schema_metadata({"discreet": _of_query(b'"columns": [[]]')})
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name: str, released: dict[str, Any]) -> None:
    with pytest.raises(LedgerError, match=r"not a release|does not hold"):
        parse_release_file(HOSTILE[name](released["query"].to_bytes()))


@pytest.mark.parametrize("kind", ["x", "", "os.system", None, 3, ["query"], {"query": 1}])
def test_unknown_kinds_are_refused(kind: object) -> None:
    content = json.dumps({"certificate": {"kind": kind}, "loss": 1, "value": 1})
    with pytest.raises(LedgerError, match="kind of release"):
        parse_release_file(content.encode())


@pytest.mark.parametrize("kind", ["query", "suggestion", "mechanism"])
def test_a_file_holds_what_its_certificate_is_of(kind: str, released: dict[str, Any]) -> None:
    for name, release in released.items():
        content = json.loads(release.to_json())
        if content["certificate"]["kind"] != kind:
            content["certificate"]["kind"] = kind
            with pytest.raises(LedgerError, match=rf"does not hold .*{kind}"):
                parse_release_file(json.dumps(content).encode())
        else:
            assert not parse_release_file(json.dumps(content).encode()).bare, name


def test_random_damage_is_refused_or_found(released: dict[str, Any]) -> None:
    chance = random.Random(1)
    for kind in ("query", "suggestion", "mechanism"):
        payload = released[kind].to_bytes()
        for _ in range(150):
            damaged = bytearray(payload)
            for _ in range(chance.choice((1, 1, 8))):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            try:
                filed = parse_release_file(bytes(damaged))
                check_signature(filed.certificate)
            except LedgerError:
                continue
            same = filed.digests == {name: filed.certificate[name] for name in filed.digests}
            assert not same or filed.loss != filed.certificate["loss"] or _means_the_same(filed, released[kind])


def _means_the_same(filed: Any, release: Any) -> bool:
    """Damage that changed nothing that is read: padding between columns, or one spelling of a text for another."""
    whole = parse_release_file(release.to_bytes())
    return (filed.certificate, filed.digests, filed.loss) == (whole.certificate, whole.digests, whole.loss)


WILD: list[Any] = [
    None,
    True,
    -1,
    10**4000,
    1.5,
    float("nan"),
    "",
    "x",
    "1/0",
    "1e999999",
    [],
    {},
    [[]],
    {"kind": "sum"},
]


def test_wild_certificates_are_refused_in_words(released: dict[str, Any]) -> None:
    started = time.process_time()
    for kind in ("bias", "suggestion", "mechanism"):
        told = json.loads(json.dumps(released[kind].certificate))
        for path in _places(told):
            for value in WILD:
                other: Any = json.loads(json.dumps(told))
                at = other
                for name in path[:-1]:
                    at = at[name]
                at[path[-1]] = value
                try:
                    verify_loss(other)
                except LedgerError:
                    continue
    for value in WILD:
        with pytest.raises(LedgerError):
            verify_loss({"loss": value} if not isinstance(value, dict) else value)
    assert time.process_time() - started < 60


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else [])
    return [(*path, name) for name, _ in items] + [p for name, each in items for p in _places(each, (*path, name))]


def test_a_release_is_saved_once_and_loaded(released: dict[str, Any], tmp_path: Path) -> None:
    release, place = released["query"], tmp_path / "a.release"
    release.save(place)
    assert dp.Release.load(place).to_bytes() == release.to_bytes() == place.read_bytes()
    with pytest.raises(ParameterError, match="overwrites nothing"):
        release.save(place)
    with pytest.raises(ParameterError, match="no such directory"):
        release.save(tmp_path / "none" / "a")
    for wrong in (tmp_path, tmp_path / "none", "a\0b"):
        with pytest.raises(DataError, match="cannot be read"):
            dp.Release.load(wrong)
    with pytest.raises(DiscreetError):
        release.save("a\0b")
