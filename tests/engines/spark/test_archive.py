"""Archives of Spark's classes: which are trusted, and that a session starts from one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.engines.spark._results import archive, fresh
from discreet.engines.spark._url import _local
from discreet.errors import DataError

OPTIONS = "spark.driver.extraJavaOptions"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive, of nothing, where one would lie."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    written = fresh()
    path = written.parent.parent / written.name
    written.parent.rmdir()
    path.write_bytes(b"")
    path.chmod(0o444)
    return path


def test_sessions_start_from_an_archive_of_ones_own(made: Path) -> None:
    assert archive() == made
    assert _local({})[OPTIONS].endswith(f" -XX:SharedArchiveFile={made}")
    assert made.parent.stat().st_mode & 0o777 == 0o700


def test_without_an_archive_there_is_no_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert archive() is None
    assert "Shared" not in _local({})[OPTIONS]


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_an_archive_that_others_can_write_is_left_alone(made: Path, mode: int) -> None:
    made.chmod(mode)
    assert archive() is None


def test_an_archive_in_a_folder_that_others_can_write_is_left_alone(made: Path) -> None:
    made.parent.chmod(0o777)
    assert archive() is None
    with pytest.raises(DataError, match="chmod 700"):
        fresh()


def test_an_archive_of_another_user_is_left_alone(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: made.stat().st_uid + 1)
    assert archive() is None


def test_a_link_to_an_archive_is_left_alone(made: Path) -> None:
    made.rename(made.with_suffix(".other"))
    made.symlink_to(made.with_suffix(".other"))
    assert archive() is None


@pytest.mark.parametrize("folder", ["relative", "/tmp/a b", '/tmp/a" -XX:x', "/tmp/a,b", "/tmp/ä"])
def test_a_folder_that_would_be_several_options_is_not_used(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", folder)
    assert archive() is None
    with pytest.raises(DataError, match="set XDG_CACHE_HOME"):
        fresh()


def test_a_file_in_the_way_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "discreet").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(DataError, match="cannot be made"):
        fresh()


_MAPPED = """
import os
from discreet.engines.spark import session_of
session_of("spark://local[1]")
import psutil
java = next(child for child in psutil.Process().children(recursive=True) if "java" in child.name())
print("mapped:", [each.path for each in java.memory_maps() if each.path.endswith("jsa") and "spark-" in each.path])
os._exit(0)
"""


@pytest.mark.soak
def test_an_archive_is_made_and_a_session_starts_from_it(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    for _ in range(2):  # the second takes the place of the first
        said = subprocess.run(
            [sys.executable, "-m", "discreet.engines.spark"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        (path,) = (tmp_path / "discreet").iterdir()
        assert said.stdout.splitlines()[-1].startswith(f"{path}: ")
    mapped = subprocess.run(
        [sys.executable, "-c", _MAPPED], env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert f"mapped: ['{path}']" in mapped
