from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from discreet.anonymize import Hierarchy, intervals, load_hierarchies, load_taxonomy, prefixes, taxonomy
from discreet.anonymize.tables import Column, read_columns, read_frame
from discreet.errors import ParameterError


@pytest.fixture
def columns() -> dict[str, Column]:
    table = pa.table({"age": [31, 47], "zip": ["02138", "02139"], "town": ["Delft", "Ghent"]})
    return {each.name: each for each in read_columns(read_frame(table), ["age", "zip", "town"], "quasi")}


def test_a_file_names_hierarchies_of_every_kind(tmp_path: Path, columns: dict[str, Column]) -> None:
    (tmp_path / "zip.csv").write_text("\ufeff02138;0213*;*\n02139;0213*;*\n", encoding="utf-8")
    (tmp_path / "all.toml").write_text(
        '[age]\nwidths = [10, 20]\nstart = 0\n[zip]\nfile = "zip.csv"\n'
        '[town.tree]\nHolland = ["Delft", "Leiden"]\nAbroad = {Belgium = ["Ghent"]}\n[gone]\nprefixes = [1]\n'
    )
    known = load_hierarchies(tmp_path / "all.toml", columns)
    assert known["age"].ancestors["47"] == ("47", "[40, 50)", "[40, 60)", "*")
    assert known["zip"].labels(columns["zip"], 1) == ["0213*", "0213*"]
    assert known["town"].ancestors["Ghent"] == ("Ghent", "Belgium", "Abroad", "*")
    assert known["town"].ancestors["Delft"] == ("Delft", "Delft", "Holland", "*")
    assert set(known) == {"age", "zip", "town"}


def test_costs_are_of_the_hierarchy_s_values(columns: dict[str, Column]) -> None:
    tree = taxonomy("town", [["Delft", "NL", "*"], ["Leiden", "NL", "*"], ["Ghent", "BE", "*"]])
    assert tree.shares(columns["town"], 1).tolist() == [0.5, 0.0]
    assert tree.shares(columns["town"], 2).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("text", ["[age]\nwidth = 3", "[town]\ntree = 3", "not toml", "[town.tree]\nA = 3"])
def test_files_that_are_none_are_refused(tmp_path: Path, columns: dict[str, Column], text: str) -> None:
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(ParameterError):
        load_hierarchies(tmp_path / "x.toml", columns)


def test_what_is_no_tree_is_refused(tmp_path: Path, columns: dict[str, Column]) -> None:
    with pytest.raises(ParameterError, match="different heights"):
        Hierarchy("a", {"x": ("x", "*"), "y": ("y",)})
    with pytest.raises(ParameterError, match="below"):
        Hierarchy("a", {"x": ("x", "p", "q"), "y": ("y", "p", "r")})
    with pytest.raises(ParameterError, match="two rows"):
        taxonomy("a", [["x", "*"], ["x", "+"]])
    with pytest.raises(ParameterError, match="empty"):
        taxonomy("a", [])
    with pytest.raises(ParameterError, match="cannot be read"):
        load_taxonomy("a", tmp_path / "nowhere.csv")
    for bad in ([], [0], [5, 7]):
        with pytest.raises(ParameterError):
            intervals(columns["age"], bad)
    with pytest.raises(ParameterError):
        intervals(columns["town"], [5])
    for lengths in ([], [2, 4], [0]):
        with pytest.raises(ParameterError):
            prefixes(columns["zip"], lengths)
