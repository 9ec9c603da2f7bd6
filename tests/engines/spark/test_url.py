"""Spark by URL: what is refused in words, and one whole way from a URL to groups."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.engines.spark import session_of
from discreet.engines.spark._java import check_java, java, provide_java
from discreet.engines.spark._url import _is_small, _parsed
from discreet.errors import DataError, MissingExtra


@pytest.mark.parametrize(
    "url",
    ["spark://", "spark://host", "spark://host:port", "spark://user:secret@host:7077", "spark://local[0]",
     "spark://local[2]x", "spark://local:x", "http://host:7077", "spark://host:7077/a/b"],
)  # fmt: skip
def test_a_bad_url_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(DataError, match="no URL of Spark; write spark://host:7077") as caught:
        session_of(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("tables", ["visits", "visits=", "=/a", "v=/a&v=/b"])
def test_bad_tables_are_refused(tables: str) -> None:
    with pytest.raises(DataError, match=r"visits=/data/visits\.parquet"):
        session_of(f"spark://local?{tables}")


def test_what_a_url_says() -> None:
    assert _parsed("spark://local") == ("local[*]", {})
    assert _parsed("spark://local[2]/?a=/x%20y.parquet&b=s3://c/d.csv") == (
        "local[2]", {"a": "/x y.parquet", "b": "s3://c/d.csv"},
    )  # fmt: skip
    assert _parsed("spark://a.b-c:7077") == ("spark://a.b-c:7077", {})
    assert _parsed("spark://localhost:7077") == ("spark://localhost:7077", {})


def test_small_are_files_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("x")
    assert _is_small({"a": str(file)})
    assert not _is_small({})
    assert not _is_small({"a": str(file), "b": str(tmp_path)})
    assert not _is_small({"a": str(tmp_path / "none")})
    assert not _is_small({"a": "s3://bucket/a.csv"})
    assert not _is_small({"a": "\0"})
    with file.open("wb") as opened:
        opened.truncate(2**25)
    assert not _is_small({"a": str(file)})


def test_without_pyspark_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyspark"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingExtra, match=r"pip install \"discreet\[spark\]\""):
        session_of("spark://local")


def test_without_java_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(DataError, match="Spark needs Java 17"):
        check_java()


_ASK = """
import discreet as dp
policy = {"version": "1", "budget": {"epsilon": 9}, "tables": {"t": {"unit": "rows", "columns": {}}}}
with dp.connect("spark://local[1]?t=t.csv", policy=policy) as session:
    print(session.sql("SELECT COUNT(*) AS n FROM t", dp.pure(9)).to_arrow().num_rows)
"""


def test_without_java_that_of_a_wheel_is_provided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JAVA_HOME", "DISCREET_BUNDLED_JAVA"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    (tmp_path / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert java() is None
    provide_java()
    check_java()
    assert Path(os.environ["JAVA_HOME"]).name == "bundled"


@pytest.mark.soak
@pytest.mark.spark
def test_without_java_that_of_a_wheel_is_used(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for folder in map(Path, os.environ["PATH"].split(os.pathsep)):
        for program in folder.iterdir() if folder.is_dir() else ():
            if not program.name.startswith("java") and not os.path.lexists(programs / program.name):
                (programs / program.name).symlink_to(program)
    (tmp_path / "t.csv").write_text("x\n1\n2\n")
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment |= {"PATH": str(programs), "PYSPARK_PYTHON": sys.executable, "HOME": str(tmp_path)}
    assert shutil.which("java", path=str(programs)) is None
    command = [sys.executable, "-W", "ignore", "-c", _ASK]
    asked = subprocess.run(command, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (asked.stdout.strip(), asked.returncode) == ("1", 0), asked.stderr


def test_an_old_java_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    old = subprocess.CompletedProcess[str]([], 0, "", 'openjdk version "1.8.0_392"')
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: old)
    monkeypatch.setenv("JAVA_HOME", "/old")
    with pytest.raises(DataError, match="Java 8; install a newer one"):
        check_java()
