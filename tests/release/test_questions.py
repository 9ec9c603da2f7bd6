"""Any question is charged first, stored, repeated for free, read from files and verified, whoever brought its class."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from outside import KIND, Histogram, HistogramRelease

import discreet as dp
from discreet.cli import main
from discreet.combined import Statement
from discreet.elapsed import on_step
from discreet.errors import LedgerError
from discreet.ledger import open_ledger, verify_release
from discreet.ledger.crypto import _signing
from discreet.mechanisms import DiscreteLaplace
from discreet.query import Suggest
from discreet.release import MechanismQuestion, kind_of, load, parse_release_file, recompute_loss, register
from discreet.release import _kinds as kinds

pytestmark = pytest.mark.usefixtures("one_database")

POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 10},
    "tables": {
        "t": {
            "unit": "who",
            "max_rows": 2,
            "columns": {
                "k": {"type": "string", "keys": ["a", "b", "c"]},
                "x": {"type": "int", "bounds": [0, 9]},
            },
        }
    },
}
TABLE = pa.table({"who": [1, 1, 2, 3], "k": ["a", "b", "a", "z"], "x": [1, 2, 3, 4]})
ASKED: dict[str, Any] = {
    "query": Statement("SELECT k, COUNT(*) AS n FROM t GROUP BY k", dp.pure(1)),
    "biased": Statement("SELECT SUM(x) AS s FROM t", dp.pure(1), bias=True),
    "suggestion": Suggest("t", "x", dp.pure(1)),
    "mechanism": MechanismQuestion(DiscreteLaplace(2), 5, 1, name="five"),
    "histogram": Histogram("t", "k", 4),
}
register(KIND)
NOTHING = dp.pure(10)
"""What remains of the budget before anything is charged."""
EVERY = pytest.mark.parametrize("name", ASKED)


@EVERY
def test_a_question_is_charged_stored_and_repeated_for_free(name: str, tmp_path: Path) -> None:
    question, path = ASKED[name], tmp_path / "t.ledger"
    with dp.connect({"t": TABLE}, POLICY, ledger=path) as session:
        release = session.answer(question)
        assert session.spent == release.loss
        again = session.answer(question, idempotency_key="one")
        assert session.spent == release.loss
        assert again.to_json() == release.to_json() and again.certificate == release.certificate
    with open_ledger(path) as ledger:
        file = parse_release_file(release.to_bytes())
        assert file.kind == release.certificate["kind"]
        assert {check.result for check in verify_release(file, ledger.facts.public_key, ledger)} == {"good"}
        assert ledger.verify() == 4


@EVERY
def test_every_kind_is_shown_saved_loaded_and_verified_from_the_command_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, saved = tmp_path / "t.ledger", tmp_path / "t.release"
    with dp.connect({"t": TABLE}, POLICY, ledger=path) as session:
        release = session.answer(ASKED[name])
    release.save(saved)
    for other in (load(saved), type(release).load(saved)):
        assert other.to_bytes() == release.to_bytes()
    assert recompute_loss(release.certificate).fits(release.loss)
    html = release._repr_html_()
    assert html.startswith("<table>") and "cost epsilon" in html
    foot = html.partition("<p>")[2].removesuffix("</p>").rpartition("; ")[2]
    assert repr(release).strip().endswith(foot.replace("<br>", "\n"))
    printed = tmp_path / "printed.json"
    printed.write_text(release.to_json())
    for file in (saved, printed):
        monkeypatch.setattr("sys.argv", ["discreet", "verify", str(file), "--ledger", str(path)])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code in (0, None), capsys.readouterr().out
        capsys.readouterr()


@EVERY
def test_a_changed_value_is_found(name: str) -> None:
    with dp.connect({"t": TABLE}, POLICY) as session:
        content = json.loads(session.answer(ASKED[name]).to_json())
    for field, value in (("rows", [[1]] * 3), ("value", 10**9), ("counts", {"a": 1}), ("max_rows", 77)):
        if field in content:
            content[field] = value if field != "rows" else [[value] * len(row) for row in content["rows"]]
    file = parse_release_file(json.dumps(content).encode())
    assert [check.result for check in verify_release(file) if check.name == "answer"] == ["bad"]


def test_a_smaller_stated_loss_is_found_for_a_kind_from_outside() -> None:
    with dp.connect({"t": TABLE}, POLICY) as session:
        release = session.answer(ASKED["histogram"])
    assert isinstance(release, HistogramRelease) and set(release.counts) == {"a", "b", "c"}
    assert release.loss == dp.pure("2/4")
    cheaper = {**release.certificate, "loss": {**release.certificate["loss"], "epsilon": "1/4"}}
    with pytest.raises(LedgerError, match="does not follow"):
        kind_of(cheaper).verify_loss(cheaper)


@EVERY
def test_what_fails_without_the_data_fails_before_the_charge(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> str:
        raise PackageNotFoundError

    with dp.connect({"t": TABLE}, POLICY) as session:
        monkeypatch.setattr(_signing, "version", missing)
        _signing.code_version.cache_clear()
        with pytest.raises(LedgerError, match="version of discreet"):
            session.answer(ASKED[name])
        assert session.remaining == NOTHING
        monkeypatch.undo()
        _signing.code_version.cache_clear()
        monkeypatch.setattr(type(session._engine), "accept", refuse)
        if name != "mechanism":
            with pytest.raises(dp.QueryError, match="not here"):
                session.answer(ASKED[name])
            assert session.remaining == NOTHING


def refuse(*_: object) -> None:
    raise dp.QueryError("not here")


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, dp.DataError])
@EVERY
def test_what_fails_after_the_charge_stays_charged_and_is_not_redrawn(
    name: str, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    with dp.connect({"t": TABLE}, POLICY) as session:
        monkeypatch.setattr(type(session._engine), "run", fail)
        monkeypatch.setattr(DiscreteLaplace, "release", fail)
        with pytest.raises(dp.DataError if error is MemoryError else error):
            session.answer(ASKED[name], idempotency_key="k")
        assert session.remaining != NOTHING
        with pytest.raises(LedgerError, match="k"):
            session.answer(ASKED[name], idempotency_key="k")


def test_progress_is_elapsed_time_and_public_steps() -> None:
    seen: list[tuple[int, int]] = []
    with dp.connect({"t": TABLE}, POLICY) as session, on_step(lambda seconds, *steps: seen.append(steps)):
        session.answer(Statement("SELECT k, COUNT(*) AS n FROM t GROUP BY ROLLUP (k)", dp.pure(1)))
    assert seen == [(0, 2), (1, 2)]


def test_a_name_of_a_kind_is_taken_once() -> None:
    assert register(KIND) is KIND
    with pytest.raises(ValueError, match=r"example\.histogram"):
        register(kinds.ReleaseKind("example.histogram", KIND.read, KIND.digests, KIND.recompute_loss, KIND.verify_loss))


def test_a_kind_of_an_installed_package_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    other = kinds.ReleaseKind("example.other", KIND.read, KIND.digests, KIND.recompute_loss, KIND.verify_loss)

    def points(group: str, name: str) -> list[Any]:
        return (
            [SimpleNamespace(load=lambda: other, value="outside:KIND")]
            if (group, name) == ("discreet.releases", "example.other")
            else []
        )

    monkeypatch.setattr(kinds, "entry_points", points)
    monkeypatch.setattr(kinds, "_KINDS", dict(kinds._KINDS))
    assert kind_of({"kind": "example.other"}) is other
    with pytest.raises(LedgerError, match="kind of release"):
        kind_of({"kind": "example.unknown"})


def test_a_broken_package_is_said_and_not_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise ImportError("numpy.core")

    for load_it in (missing, lambda: 3, lambda: KIND):
        monkeypatch.setattr(
            kinds, "entry_points", lambda load_it=load_it, **_: [SimpleNamespace(load=load_it, value="x:Y")]
        )
        with pytest.raises(LedgerError, match=r"'example\.else' cannot be used"):
            kind_of({"kind": "example.else"})


def test_our_own_kinds_are_known_in_a_fresh_process_and_are_nobody_elses(tmp_path: Path) -> None:
    with dp.connect({"t": TABLE}, POLICY) as session:
        session.answer(ASKED["query"]).save(tmp_path / "r")
    script = f"from discreet.release import load; print(type(load({str(tmp_path / 'r')!r})).__name__)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("Release", 0), done.stderr
    ours = SimpleNamespace(load=lambda: kind_of({"kind": "query"}), value="discreet.query._sql:QUERY")
    other = SimpleNamespace(load=lambda: KIND, value="evil:QUERY")
    assert sorted([other, ours], key=lambda point: not kinds._is_ours(point))[0] is ours


@pytest.mark.parametrize("path", ["noises.0.scale", "basis.aggregates", "basis.items", "loss.epsilon"])
@pytest.mark.parametrize("value", ["1e99999999", "1/0", None, "(" * 5000, -1])
def test_a_hostile_number_in_a_file_is_refused_at_once(path: str, value: object, tmp_path: Path) -> None:
    with dp.connect({"t": TABLE}, POLICY) as session:
        payload = session.sql("SELECT AVG(x) AS a FROM t", dp.pure(1)).to_bytes()
    with pa.ipc.open_stream(payload) as stream:
        table = stream.read_all()
    content = json.loads(table.schema.metadata[b"discreet"])
    place: Any = content
    *steps, last = path.split(".")
    for step in steps:
        place = place[int(step) if step.isdigit() else step]
    place[int(last) if last.isdigit() else last] = value
    table = table.replace_schema_metadata({"discreet": json.dumps(content)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    (tmp_path / "r").write_bytes(sink.getvalue().to_pybytes())
    with pytest.raises(LedgerError):
        load(tmp_path / "r")


def test_nothing_may_lie_beside_what_was_certified() -> None:
    with dp.connect({"t": TABLE}, POLICY) as session:
        releases = [session.answer(ASKED[name]) for name in ("query", "suggestion", "mechanism")]
    for release in releases:
        content = {**json.loads(release.to_json()), "more": [1]}
        with pytest.raises(LedgerError, match="does not hold"):
            parse_release_file(json.dumps(content).encode())
    about = json.dumps(json.loads(releases[2].to_json()))
    table = pa.table({"n": [999_999]}).replace_schema_metadata({"discreet": about})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(LedgerError, match="does not hold"):
        parse_release_file(sink.getvalue().to_pybytes())


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_a_small_file_cannot_take_any_amount_of_memory(codec: str, tmp_path: Path) -> None:
    with dp.connect({"t": TABLE}, POLICY) as session:
        payload = session.answer(ASKED["query"]).to_bytes()
    with pa.ipc.open_stream(payload) as stream:
        schema = pa.schema([("c0", pa.int64())], metadata=stream.schema.metadata)
    for table in (
        pa.table({"c0": np.zeros(10**6, dtype=np.int64)}, schema=schema),
        pa.table({"c0": pa.array(["a"] * 9).dictionary_encode()}).replace_schema_metadata(schema.metadata),
    ):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
            writer.write_table(table)
        bomb, path = sink.getvalue().to_pybytes(), tmp_path / "bomb"
        path.write_bytes(bomb)
        for read, given in ((parse_release_file, bomb), (dp.Release.from_bytes, bomb), (load, path)):
            with pytest.raises(LedgerError):
                read(given)
