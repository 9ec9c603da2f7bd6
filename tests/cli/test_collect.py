"""`discreet collect`: from a document to estimates."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet import local
from discreet.server.collector import Batch, Store


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs `discreet collect` in a directory of its own, with bytes on stdin; the result has bytes too."""
    monkeypatch.chdir(tmp_path)
    Path("ways.txt").write_text("bus\ncar\ntrain\n")

    def collect(*words: str, given: bytes = b"") -> Any:
        from discreet.cli._app import app

        done = CliRunner().invoke(app, ["collect", *words], input=given, prog_name="discreet")
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done

    return collect


def stored(scheme: Any, values: Any, home: str = "store") -> None:
    with Store(scheme, Path(home)) as store:
        store.write([Batch(b"k" * 16, b"d" * 16, scheme.simulate(values), rejected=3)])


@pytest.mark.parametrize(
    ("words", "scheme"),
    [
        (
            ["hadamard_response", "--domain", "ways.txt", "--epsilon", "2"],
            local.HadamardResponse(domain=["bus", "car", "train"], epsilon=2),
        ),
        (
            ["optimized_unary", "--domain", "50", "--epsilon", "1/2", "--memoize"],
            local.OptimizedUnary(domain=50, epsilon="1/2", longitudinal="memoize"),
        ),
        (
            ["square_wave", "--bounds", "0", "24", "--epsilon", "2", "--set", "bins=8", "--set", "smooth=false"],
            local.SquareWave(bounds=(0, 24), epsilon=2, bins=8, smooth=False),
        ),
        (["warner", "--epsilon", "1"], local.Warner.from_epsilon(1)),
        (["warner", "--set", "p=0.75"], local.Warner("0.75")),
    ],
    ids=["names", "memoize", "numbers", "from_epsilon", "set"],
)
def test_a_document_from_options(run: Any, words: list[str], scheme: Any) -> None:
    done = run("scheme", *words)
    assert done.exit_code == 0
    assert local.from_json(done.stdout) == scheme


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["nope"], "there are basic_rappor"),
        (["two_server_count", "--epsilon", "1"], "there is no protocol"),
        (["hybrid", "--epsilon", "1"], "also needs bounds"),
        (["hybrid", "--epsilon", "1", "--domain", "3"], "takes no domain"),
        (["hadamard_response", "--epsilon", "1", "--domain", "nowhere.txt"], "--domain nowhere.txt: No such file"),
        (["hadamard_response", "--epsilon", "-1", "--domain", "3"], "epsilon"),
        (["hadamard_response", "--epsilon", "1", "--domain", "3", "--set", "epsilon=2"], "given twice"),
        (["hadamard_response", "--epsilon", "1", "--domain", "3", "--set", "epsilon"], "NAME=VALUE"),
        (["rappor", "--epsilon", "1", "--set", "bits=x", "--set", "hashes=2", "--set", "cohorts=2"], "bits"),
    ],
    ids=range(9),
)
def test_a_document_that_cannot_be(run: Any, words: list[str], reason: str) -> None:
    done = run("scheme", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert reason in done.stderr


@pytest.mark.parametrize(
    ("scheme", "values", "line"),
    [
        (local.KaryRandomizedResponse(domain=["bus", "a b ✓"], epsilon=20), ["bus", "a b ✓"] * 4, "\n"),
        (local.KaryRandomizedResponse(domain=5, epsilon=20), [0, 4, 2], "\r\n"),
        (local.Hybrid(bounds=(0, 24), epsilon=20), [1.5, 3, 1e3], "\n"),
        (local.CountMeanSketch(4, hashes=4, width=16), ["new", "words"], "\n"),
        (local.Warner("0.75"), [0, 1, 1], "\n"),
        (local.PrivUnit(dimension=2, epsilon=4), ["1 -0.5", "3,4", "0, 1e-3"], "\n"),
    ],
    ids=["names", "whole", "numbers", "texts", "answers", "vectors"],
)
def test_values_become_a_batch(run: Any, scheme: Any, values: list[Any], line: str) -> None:
    Path("scheme.json").write_text(scheme.to_json())
    given = line.join(map(str, values)).encode()
    for more, read in (([], local.Reports.from_bytes), (["--json"], local.Reports.from_json)):
        done = run("encode", "--scheme", "scheme.json", *more, given=given + line.encode())
        assert done.exit_code == 0, done.stderr
        server = scheme.server().add(read(done.stdout_bytes))
        assert (server.reports, server.rejected) == (len(values), 0)
    if isinstance(scheme, local.KaryRandomizedResponse):  # e^20 to 1: five or eight reports are as their values
        assert server.counts.sum() == len(values)


def test_a_device_with_a_secret_says_the_same(run: Any) -> None:
    Path("s.json").write_text(local.OptimizedUnary(domain=50, epsilon=1, longitudinal="memoize").to_json())
    words = ["encode", "--scheme", "s.json", "--secret", "device"]
    refused = run(*words, "--new-secret", given=b"77\n")
    assert refused.exit_code == 2
    assert not Path("device").exists()  # none is made for what cannot be encoded
    first = run(*words, "--new-secret", given=b"7\n")
    assert Path("device").stat().st_mode & 0o777 == 0o600
    assert first.exit_code == 0
    assert run(*words, given=b"7\n").stdout_bytes == first.stdout_bytes
    assert run(*words, given=b"8\n").stdout_bytes != first.stdout_bytes
    again = run(*words, "--new-secret", given=b"7\n")
    assert (again.exit_code, "exists and is left as it is" in again.stderr) == (2, True)
    Path("device").write_text("not a secret")
    assert "holds no secret" in run(*words, given=b"7\n").stderr


@pytest.mark.parametrize(
    ("given", "words", "reason"),
    [
        (b"", [], "there are none"),
        (b"\xff\xfe", [], "UTF-8"),
        (b"bus\nship\n", [], "not in the domain"),
        (b"bus\n", ["--secret", "x"], "has no use for a secret"),
        (b"bus\n", ["--new-secret"], "goes with --secret"),
    ],
    ids=range(5),
)
def test_values_that_cannot_be_reported(run: Any, given: bytes, words: list[str], reason: str) -> None:
    Path("s.json").write_text(local.HadamardResponse(domain=["bus", "car"], epsilon=1).to_json())
    done = run("encode", "--scheme", "s.json", *words, given=given)
    assert (done.exit_code, done.stdout_bytes) == (2, b"")
    assert reason in done.stderr
    assert "ship" not in done.stderr


def test_what_is_wrong_with_a_value_is_not_told(run: Any) -> None:
    Path("s.json").write_text(local.Hybrid(bounds=(0, 1), epsilon=1).to_json())
    done = run("encode", "--scheme", "s.json", given=b"0.5\nprivate\n")
    assert (done.exit_code, "private" in done.stderr) == (2, False)
    Path("m.json").write_text(local.OptimizedUnary(domain=4, epsilon=1, longitudinal="memoize").to_json())
    assert "--secret FILE" in run("encode", "--scheme", "m.json", given=b"1\n").stderr


def test_estimates_of_frequencies(run: Any) -> None:
    scheme = local.HadamardResponse(domain=["bus", "[red]car", "train\x1b[2J"], epsilon=8)
    stored(scheme, ["[red]car"] * 4000 + ["bus"] * 1000)
    told = json.loads(run("estimate", "--store", "store", "--json", "--level", "0.99999999999").stdout)
    assert (told["scheme"], told["reports"], told["rejected"]) == ("hadamard_response", 5000, 3)
    assert [row["value"] for row in told["estimates"]] == ["bus", "[red]car", "train\x1b[2J"]
    assert [row["low"] <= share <= row["high"] for row, share in zip(told["estimates"], (0.2, 0.8, 0), strict=True)]
    shown = run("estimate", "--store", "store").stdout
    assert shown.index("[red]car") < shown.index("bus")  # the largest first, and no markup
    assert "\x1b" not in shown
    assert "5,000 reports of hadamard_response; 3 rejected" in shown


@pytest.mark.parametrize(
    ("scheme", "values", "columns"),
    [
        (local.Hybrid(bounds=(0, 24), epsilon=4), np.full(2000, 6.0), {"value", "mean", "stderr", "low", "high"}),
        (local.SquareWave(bounds=(0, 24), epsilon=4, bins=8), np.full(2000, 6.0), {"low", "high", "share"}),
        (local.PrivUnit(dimension=2, epsilon=4), [[0, 1]] * 50, {"value", "mean", "stderr", "low", "high"}),
        (local.Warner("0.75"), [0, 1] * 500, {"value", "frequency", "stderr", "low", "high"}),
        (
            local.PrefixExtending(8, length=3, alphabet="abc"),
            ["abc", "ca"] * 2000,
            {"word", "frequency", "stderr", "low", "high"},
        ),
        (local.KaryRandomizedResponse(domain=100, epsilon=4), list(range(100)), None),
    ],
    ids=["mean", "distribution", "vectors", "survey", "words", "many"],
)
def test_estimates_of_all_kinds(run: Any, scheme: Any, values: Any, columns: set[str] | None) -> None:
    stored(scheme, values)
    Path("s.json").write_text(scheme.to_json())
    done = run("estimate", "--scheme", "s.json", "--store", "store", "--plot", "plot.svg")
    assert done.exit_code == 0, done.stderr
    assert "<svg" in Path("plot.svg").read_text(encoding="utf-8")
    assert ("and 80 more values" in done.stdout) == (columns is None)
    found = json.loads(run("estimate", "--store", "store", "--json").stdout)["estimates"]
    assert columns is None or found[0].keys() == columns


def test_where_no_word_is_found_there_is_nothing_to_plot(run: Any) -> None:
    stored(local.PrefixExtending(1, length=3, alphabet="abc", false_words="1e-12"), ["a", "b", "c", "ca"])
    done = run("estimate", "--store", "store", "--plot", "plot.svg")
    assert (done.exit_code, Path("plot.svg").exists()) == (4, False)
    assert "4 reports of prefix_extending" in done.stdout
    assert "nothing was found" in done.stderr


def test_candidates(run: Any) -> None:
    stored(local.CountMeanSketch(4, hashes=4, width=64), ["hello"] * 900)
    Path("words.txt").write_text("hello\nworld\n", encoding="utf-8")
    told = json.loads(run("estimate", "--store", "store", "--candidates", "words.txt", "--json").stdout)
    assert [row["value"] for row in told["estimates"]] == ["hello", "world"]
    missing = run("estimate", "--store", "store")
    assert (missing.exit_code, "candidates" in missing.stderr) == (2, True)


def test_words_that_nobody_listed(run: Any) -> None:
    scheme = local.PrefixExtending(4, length=3, alphabet="abt", rows=64)
    stored(scheme, ["tab"] * 6000 + ["bat"] * 4000)
    done = run("estimate", "--store", "store", "--plot", "words.svg")
    assert done.exit_code == 0, done.stderr
    assert "tab" in Path("words.svg").read_text(encoding="utf-8")
    assert "before the choice of which words to tell" in done.stdout
    Path("words.txt").write_text("tab\nbat\n", encoding="utf-8")
    asked = run("estimate", "--store", "store", "--candidates", "words.txt")
    assert (asked.exit_code, "before the choice" in asked.stdout) == (0, False)


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (["--store", "nowhere"], 4, "there is no store in nowhere"),
        (["--store", "store", "--level", "1"], 2, "--level"),
        (["--store", "store", "--plot", "x.gif"], 2, ".svg"),
        (["--store", "store", "--scheme", "other.json"], 4, "the store is of scheme"),
        (["--store", "store", "--scheme", "nowhere.json"], 2, "--scheme nowhere.json: No such file"),
        (["--store", "store", "--scheme", "ways.txt"], 2, "not the document of a scheme"),
        (["--store", "store", "--candidates", "ways.txt"], 2, "takes no candidates"),
        (["--store", "empty"], 4, "no report has been added"),
    ],
    ids=range(8),
)
def test_what_cannot_be_estimated(run: Any, words: list[str], code: int, reason: str) -> None:
    scheme = local.KaryRandomizedResponse(domain=4, epsilon=1)
    stored(scheme, [1, 2])
    Store(scheme, Path("empty")).close()
    Path("other.json").write_text(local.Warner("0.75").to_json())
    done = run("estimate", *words)
    assert (done.exit_code, done.stdout) == (code, "")
    assert reason in done.stderr


def test_from_devices_to_estimates(run: Any) -> None:
    """Served by a process, with both forms sent to it, stopped by SIGTERM, and estimated while it runs and after."""
    Path("s.json").write_text(
        run("scheme", "kary_randomized_response", "--domain", "ways.txt", "--epsilon", "20").stdout
    )
    words = ["collect", "serve", "--scheme", "s.json", "--store", "store", "--port", "0"]
    command = [sys.executable, "-m", "discreet.cli", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"(http://\S+/reports)$", line.strip())
        assert found, line
        for i, (more, kind) in enumerate((([], "octet-stream"), (["--json"], "json"))):
            body = run("encode", "--scheme", "s.json", *more, given=b"bus\n" * 30 + b"car\n" * 10).stdout_bytes
            headers = {"Content-Type": f"application/{kind}", "Idempotency-Key": f"{i}" * 20}
            for _ in range(2):
                with urllib.request.urlopen(urllib.request.Request(found[1], body, headers)) as answer:
                    assert json.load(answer)["reports"] == 40
            assert json.loads(run("estimate", "--store", "store", "--json").stdout)["reports"] == 40 * (i + 1)
        second = run("serve", "--scheme", "s.json", "--store", "store2", "--port", found[1].split(":")[2].split("/")[0])
        assert (second.exit_code, "take another --host or --port" in second.stderr) == (2, True)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (0, "", "")
    rows = json.loads(run("estimate", "--store", "store", "--json").stdout)["estimates"]
    assert [round(row["frequency"], 2) for row in rows] == [0.75, 0.25, 0]


@pytest.mark.parametrize("command", ["scheme", "encode", "serve", "estimate"])
def test_help_teaches(run: Any, command: str) -> None:
    text = run(command, "--help").stdout
    assert "Examples" in text
    assert f"discreet collect {command}" in text


def test_several_attributes_from_a_document_to_estimates(run: Any) -> None:
    assert run("scheme", "hybrid", "--bounds", "0", "24", "--epsilon", "2").exit_code == 0
    for name, words in {
        "way": ["hadamard_response", "--domain", "ways.txt", "--epsilon", "2"],
        "hours": ["hybrid", "--bounds", "0", "24", "--epsilon", "2"],
        "apps": ["key_values", "--domain", "ways.txt", "--bounds", "0", "9", "--epsilon", "2", "--set", "padding=2"],
        "tables": ["marginals", "--epsilon", "2", "--set", 'attributes={"os": ["a", "b"], "age": 4}'],
        "new": ["count_mean_sketch", "--epsilon", "2", "--set", "hashes=2", "--set", "width=16"],
    }.items():
        Path(f"{name}.json").write_text(run("scheme", *words).stdout)
    parts = [word for name in ("way", "hours", "apps", "tables", "new") for word in ("--part", f"{name}={name}.json")]
    made = run(
        "scheme",
        "sampled_attributes",
        *parts,
        "--set",
        'weights={"way": 1, "hours": 1, "apps": 2, "tables": 2, "new": 1}',
    )
    assert made.exit_code == 0, made.stderr
    Path("all.json").write_text(made.stdout)
    scheme: Any = local.from_json(made.stdout)
    record = {"way": "bus", "hours": 3.5, "apps": {"car": 4, "bus": 1}, "tables": {"os": "b", "age": 3}, "new": "ant"}
    line = json.dumps(record)
    done = run("encode", "--scheme", "all.json", given=f"{line}\n{line}\n".encode())
    assert done.exit_code == 0, done.stderr
    assert scheme.server().add(local.Reports.from_bytes(done.stdout_bytes)).reports == 2
    stored(scheme, [record] * 400)
    shown = run("estimate", "--store", "store")
    assert shown.exit_code == 0, shown.stderr
    assert re.search(r"way: \d+ reports", shown.stdout)
    assert "os=b, age=3" in shown.stdout
    assert "needs candidates" in shown.stdout
    rows = json.loads(run("estimate", "--store", "store", "--json").stdout)["estimates"]
    assert {row["attribute"] for row in rows} == set(record)
    refused = run("estimate", "--store", "store", "--plot", "all.svg")
    assert refused.exit_code == 2
    assert "cannot share a plot" in refused.stderr


@pytest.mark.parametrize(
    "line",
    [
        "bus",
        "{",
        '{"os": "a", "os": "b"}',
        '{"os": "a", "age": 4}',
        "[" * 100_000,
        '{"os": "secret-42", "age": 1}',
        "3",
    ],
    ids=range(7),
)
def test_a_line_that_is_no_record(run: Any, line: str) -> None:
    Path("t.json").write_text(local.Marginals({"os": ["a", "b"], "age": 4}, 1).to_json())
    done = run("encode", "--scheme", "t.json", given=line.encode())
    assert (done.exit_code, done.stdout_bytes) == (2, b"")
    assert "secret-42" not in done.stderr


@pytest.mark.parametrize("part", ["x", "=x.json", "x=nowhere.json"])
def test_a_part_that_is_none(run: Any, part: str) -> None:
    assert run("scheme", "sampled_attributes", "--part", part).exit_code == 2


def test_parts_in_json_are_no_schemes(run: Any) -> None:
    done = run("scheme", "sampled_attributes", "--set", 'parts={"a": 1}')
    assert done.exit_code == 2
    assert "scheme" in done.stderr
