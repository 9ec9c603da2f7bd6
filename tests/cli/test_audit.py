"""`discreet audit`: our own mechanisms and a user's, charts, and words for whatever cannot be audited.

What is refuted here leaks without end, and what is not has a claim that no confidence level can refute by chance: a
constant, or a claim of ε ≥ 30. So no test is wrong by chance but with probability below 1e-9.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from discreet.audit import batched
from discreet.audit.catalog._entry import Entry
from discreet.cli.audit import _audit
from discreet.cli.audit import _subjects as _audit_subjects
from discreet.mechanisms import DiscreteLaplace
from discreet.privacy import pure

MINE = '''
import sys
import numpy as np

random = np.random.default_rng()
print("imported")
print("warned", file=sys.stderr)


def noisy(x):
    """Leaks by its last digits alone."""
    return x + random.laplace()


class Batch:
    def draw(self, x, size):
        return x + random.laplace(size=size)


class Release:
    def release(self, x):
        return x + random.laplace()


class Needs:
    def __init__(self, scale):
        self.scale = scale


class Broken:
    def draw(self, x, size):
        raise RuntimeError("no generator")


class Short:
    def draw(self, x, size):
        return [x]


class Endless:
    def draw(self, x, size):
        return x


def made():
    return Batch()


def failing():
    raise RuntimeError("none to make")


def makes_nothing():
    return 3


def pairs():
    yield [0, 0], [0]
    yield (1, 1), (1,)


def total(x):
    return sum(x) + random.laplace()


def none():
    return []


def threes():
    return [(1, 2, 3)]


batch = Batch()
broken = Broken()
short = Short()
endless = Endless()
listed = [[0, 1]]
number = 3
'''

ASK = ("--pair", "[0, 1]", "--claim", "pure(1)", "--samples", "4000")
FINE = batched(lambda count, size: DiscreteLaplace(1).release([count] * size))
LEAKY = batched(lambda count, size: [count] * size)
OWN = {
    "fine": Entry("fine", "counts", "DiscreteLaplace(1)", FINE, ((0, 1),), pure(30), samples=3_000),
    "leaky": Entry("leaky", "counts", "nothing", LEAKY, ((0, 1),), pure(1), samples=2_000),
}


@pytest.fixture(autouse=True)
def modules(cli: Any) -> Generator[None]:
    """A module in the current directory, forgotten afterwards."""
    Path("mine.py").write_text(MINE)
    path = list(sys.path)
    yield
    sys.modules.pop("mine", None)
    assert sys.path == path


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_audit_subjects, "own_entries", lambda: OWN)


def test_a_leak_of_ones_own_is_refuted(cli: Any) -> None:
    done = cli("audit", "mine:noisy", *ASK)
    assert done.code == 1
    assert "VIOLATED" in done.out
    assert "mine:noisy: VIOLATED: the claim, epsilon 1, does not hold" in done.out
    assert "imported" not in done.out
    assert "imported" in done.err


@pytest.mark.parametrize("name", ["batch", "Batch", "made", "Release", "batch.draw.__self__"])
def test_all_that_draws_is_a_mechanism(cli: Any, name: str) -> None:
    done = cli("audit", f"mine:{name}", *ASK, "--format", "json")
    assert (done.code, done.json["audits"][0]["name"]) == (1, f"mine:{name}")


def test_inputs_from_a_function(cli: Any) -> None:
    ask = ("audit", "mine:total", "--claim", "pure(40)", "--samples", "2000", "--format", "json")
    assert cli(*ask, "--pairs", "mine:pairs").code == 0
    assert cli(*ask, "--pairs", "mine:pairs", "--pair", "[[0], []]").json["audits"][0]["samples"] == 2_000


def test_inputs_from_a_list(cli: Any) -> None:
    assert cli("audit", "mine:noisy", "--pairs", "mine:listed", *ASK[2:]).code == 1


def test_json(cli: Any) -> None:
    told = cli("audit", "mine:noisy", *ASK, "--format", "json", "--confidence", "0.99").json
    assert list(told) == ["violated", "audits"]
    assert told["violated"] is True
    (each,) = told["audits"]
    assert list(each)[:3] == ["name", "violated", "claim"]
    assert each["claim"] == {"kind": "pure", "epsilon": "1"}
    assert each["confidence"] == pytest.approx(0.99)
    assert 0 < each["samples"] <= 4_000
    assert each["epsilon_lower"] > each["claimed"] == 1


def test_sequential_stops_early(cli: Any) -> None:
    ask = ("audit", "mine:noisy", "--pair", "[0, 1]", "--claim", "pure(1)", "--format", "json")
    (each,) = cli(*ask, "--samples", "100000", "--sequential").json["audits"]
    assert each["violated"] is True
    assert each["samples"] < 20_000


def test_delta_is_where_epsilon_is_told(cli: Any) -> None:
    ask = ("audit", "mine:noisy", "--pair", "[0, 1]", "--claim", "rho(40)", "--samples", "2000", "--format", "json")
    assert cli(*ask, "--delta", "1e-3").json["audits"][0]["delta"] == 1e-3
    assert cli(*ask).json["audits"][0]["delta"] == 1e-6


def test_probes(cli: Any) -> None:
    done = cli("audit", "mine:noisy", "--pair", "[0, 1]", "--claim", "pure(30)", "--samples", "1000", "--probe")
    assert done.code == 1
    assert "not refuted" in done.out
    assert "\nmine:noisy, probed:\n" in done.out
    assert "LEAK  forked children" in done.out
    assert "  fine  " in done.out


def test_probes_in_json(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for those of fresh interpreters, which take the longest to start."""
    monkeypatch.setattr("discreet.audit.probes._copied_rng_state.in_fresh_interpreter", lambda *_: None)
    told = cli("audit", "mine:noisy", *ASK, "--probe", "--format", "json").json["audits"][0]["probes"]
    assert told["violated"] is True
    named = {each["name"]: each["violated"] for each in told["findings"]}
    assert named["forked children"] is True
    assert named["threads"] is False


def test_our_own_by_name(cli: Any, own: None) -> None:
    done = cli("audit", "fine", "leaky", "--format", "json")
    assert done.code == 1
    fine, leaky = done.json["audits"]
    assert (fine["name"], fine["violated"], fine["samples"]) == ("fine", False, 3_000)
    assert (leaky["name"], leaky["violated"], leaky["samples"]) == ("leaky", True, 2_000)
    assert fine["confidence"] == leaky["confidence"] == pytest.approx(0.975)


def test_names_in_any_case(cli: Any, own: None) -> None:
    told = cli("audit", "FINE", "Fine", "--format", "json").json
    assert [each["name"] for each in told["audits"]] == ["fine"]


def test_the_mechanisms_of_the_library_are_known(cli: Any) -> None:
    told = cli("audit", "--list", "--format", "json").json["mechanisms"]
    assert {"DiscreteLaplace", "Exponential"} <= {each["name"] for each in told}
    out = cli("audit", "discretelaplace", "--samples", "2000", "--confidence", "0.999999999").out
    assert "not refuted" in out


def test_all_of_our_own(cli: Any, own: None) -> None:
    out = cli("audit", "--all").out
    assert "1 of 2 claims refuted. What was not refuted is not proved." in out
    assert "leaky: VIOLATED" in out
    assert "fine: " not in out


def test_our_own_against_another_claim(cli: Any, own: None) -> None:
    ask = ("audit", "fine", "--samples", "8000", "--format", "json")
    assert cli(*ask).code == 0
    assert cli(*ask, "--claim", "pure(0.1)").code == 1
    assert cli(*ask, "--claim", "pure(20)", "--pair", "[5, 5]").code == 0
    assert cli(*ask, "--pair", "[0, 9]").code == 0


def test_our_own_and_ones_own(cli: Any, own: None) -> None:
    told = cli("audit", "fine", "mine:noisy", "fine", *ASK, "--format", "json").json
    assert [each["name"] for each in told["audits"]] == ["fine", "mine:noisy"]


def test_the_list(cli: Any, own: None) -> None:
    out = cli("audit", "--list").out
    assert "DiscreteLaplace(1)" in out
    assert "epsilon 30" in out
    told = cli("audit", "--list", "--format", "json").json["mechanisms"]
    assert told[0] == {
        "name": "fine",
        "group": "counts",
        "shown": "DiscreteLaplace(1)",
        "claim": {"kind": "pure", "epsilon": "30"},
    }


@pytest.mark.parametrize("names", [["mine:noisy"], ["mine:noisy", "mine:batch"]], ids=len)
def test_plots(cli: Any, names: list[str]) -> None:
    assert cli("audit", *names, *ASK, "--plot", "here.svg").code == 1
    text = Path("here.svg").read_text()
    assert ("type II error" in text) == (len(names) == 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--all"),
        (["--all", "fine"], "leave the names out, or --all"),
        (["nowhere:noisy", *ASK], "there is no module nowhere in"),
        (["mine.inner:noisy", *ASK], "there is no module mine.inner"),
        (["broken_module:noisy", *ASK], "broken_module cannot be imported: SyntaxError"),
        (["leaving:noisy", *ASK], "leaving cannot be imported: SystemExit: 3"),
        (["needing:noisy", *ASK], "needing cannot be imported: ModuleNotFoundError: No module named 'nowhere'"),
        (["mine:nosy", *ASK], "mine has no nosy; did you mean noisy?"),
        (["mine:number", *ASK], "mine:number is no mechanism but int"),
        (["mine:makes_nothing", *ASK], "mine:makes_nothing is no mechanism but int"),
        (["mine:failing", *ASK], "mine:failing() failed: RuntimeError: none to make"),
        (["mine:Needs", *ASK], "a class that needs arguments"),
        (["mine:broken", *ASK], "mine:broken cannot be drawn from: RuntimeError: no generator"),
        (["mine:short", *ASK], "returned 1 outputs"),
        (["mine:endless", *ASK], "mine:endless cannot be drawn from: TypeError"),
        (["mine:noisy", *ASK[2:]], "on which neighbouring inputs?"),
        (["mine:noisy", *ASK[:2]], "what does mine:noisy claim?"),
        (["mine:noisy", *ASK[:2], "--claim", "pur(1)"], "did you mean pure?"),
        (["mine:noisy", *ASK[:2], "--claim", "gaussian(-1)"], "noise must be greater than 0"),
        (["mine:noisy", "--pair", "[0, 1", *ASK[2:]], "--pair is two inputs as a JSON list"),
        (["mine:noisy", "--pair", "[a, b]", *ASK[2:]], "--pair is two inputs as a JSON list"),
        (["mine:noisy", "--pair", "[" * 100_000, *ASK[2:]], "--pair is two inputs as a JSON list"),
        (["mine:noisy", "--pair", "[0, 1, 2]", *ASK[2:]], "--pair needs two neighbouring inputs"),
        (["mine:noisy", "--pair", '"ab"', *ASK[2:]], "--pair needs two neighbouring inputs"),
        (["mine:noisy", "--pairs", "pairs", *ASK[2:]], "--pairs takes MODULE:FUNCTION"),
        (["mine:noisy", "--pairs", "mine:none", *ASK[2:]], "--pairs mine:none gave no pairs"),
        (["mine:noisy", "--pairs", "mine:threes", *ASK[2:]], "--pairs mine:threes needs two neighbouring inputs"),
        (["mine:noisy", "--pairs", "mine:number", *ASK[2:]], "it gave int"),
        (["mine:noisy", "--pairs", "mine:failing", *ASK[2:]], "--pairs mine:failing failed: RuntimeError"),
        (["mine:noisy", *ASK[:4], "--samples", "10"], "samples must be at least 100 for each"),
        (["mine:noisy", *ASK, "--confidence", "1"], "--confidence must be above 0 and below 1"),
        (["mine:noisy", *ASK, "--confidence", "nan"], "--confidence must be a finite number"),
        (["mine:noisy", *ASK, "--delta", "2"], "delta"),
        (["mine:noisy", *ASK, "--plot", "here.gif"], "ends in .svg, .png, .html"),
        (["lekay", *ASK], "there is no mechanism called 'lekay'; did you mean 'leaky'?"),
        (["a b:c", *ASK], "there is no mechanism called 'a b:c'"),
    ],
)
def test_bad_usage_is_one_message(cli: Any, own: None, arguments: list[str], message: str) -> None:
    Path("broken_module.py").write_text("def noisy(:\n")
    Path("leaving.py").write_text("raise SystemExit(3)\n")
    Path("needing.py").write_text("import nowhere\n")
    done = cli("audit", *arguments)
    assert done.code == 2
    assert done.out == ""
    assert message in done.err
    assert not Path("here.gif").exists()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_tells_samples_and_time_alone(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    with _audit._progress() as told:
        told(10, 4_000)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue())
    assert "10 of 4,000 samples" in plain
    assert re.sub(r"[\d,]+ of [\d,]+ samples|\d:\d\d:\d\d|[━╸╺\s]", "", plain) == ""


def test_no_progress_without_a_terminal(cli: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with _audit._progress() as told:
        told(10, 4_000)
    assert capsys.readouterr().err == ""


def test_the_help_teaches(cli: Any) -> None:
    out = cli("audit", "--help").out
    for words in ("--pair", "[0, 1]", "pure(1)", "discreet[plots]", "1 a claim was refuted", "proves no privacy"):
        assert words in " ".join(out.replace("│", " ").split()), words
    assert "1 a claim refuted" in " ".join(cli("--help").out.replace("│", " ").split())


def test_as_a_process(cli: Any) -> None:
    done = cli.process("audit", "mine:noisy", *ASK, "--format", "json")
    assert done.returncode == 1
    assert done.stdout.startswith('{"violated": true')
    assert done.stderr == "imported\nwarned\n"
