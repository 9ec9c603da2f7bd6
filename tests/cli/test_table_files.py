"""Tables in files that commands are given."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.cli._table_files import table_in
from discreet.errors import DataError, ParameterError


def written(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "table.csv"
    path.write_text(text, encoding=encoding)
    return path


@pytest.mark.parametrize("text", ["country,age\nNA,31\n,\nNULL,7\nnan,8\n", "country;age\nNA;31\n;\nNULL;7\nnan;8\n"])
def test_only_an_empty_cell_is_null(tmp_path: Path, text: str) -> None:
    table = table_in(written(tmp_path, text, "utf-8-sig"))
    assert table.to_pydict() == {"country": ["NA", None, "NULL", "nan"], "age": [31, None, 7, 8]}


def test_a_delimiter_within_a_cell_is_no_delimiter(tmp_path: Path) -> None:
    table = table_in(written(tmp_path, 'note;town;age\n"one, two;\nthree";Bern;4\n'))
    assert table.to_pylist() == [{"note": "one, two;\nthree", "town": "Bern", "age": 4}]


def test_columns_may_be_asked_for_as_texts(tmp_path: Path) -> None:
    table = table_in(written(tmp_path, "zip,age\n02138,4\n"), {"zip": pa.string(), "absent": pa.string()})
    assert table.to_pylist() == [{"zip": "02138", "age": 4}]


def test_a_parquet_file_is_read_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "year=2026"
    folder.mkdir()
    expected = pa.table({"a": ["NA", "", None]})
    for name in ("t.parquet", "T.PQ"):
        pq.write_table(expected, folder / name)
        assert table_in(folder / name).equals(expected)


@pytest.mark.parametrize(
    "name", ["no.csv", "no.parquet", "folder.csv", "short.csv", "latin.csv", "empty.csv", "bad.pq"]
)
def test_what_cannot_be_read_is_said(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "short.csv").write_text("a,b\n1\n", encoding="utf-8")
    (tmp_path / "latin.csv").write_bytes("a,b\nÜrzig,Käse\n".encode("latin-1"))
    (tmp_path / "late.csv").write_bytes(b"a,b\n" + b"x,y\n" * 9_000 + "Ürzig,Käse\n".encode("latin-1"))
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "bad.pq").write_bytes(b"PAR1" + b"\0" * 40 + b"PAR1")
    with pytest.raises(DataError, match=rf"{name} cannot be read: ") as refused:
        table_in(tmp_path / name)
    assert "\n" not in str(refused.value)


def test_other_kinds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"\.parquet or \.csv"):
        table_in(tmp_path / "table.xlsx")
