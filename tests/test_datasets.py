"""The table that ships with discreet: what it holds, what it weighs, and that its script makes it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
from hatchling.builders.wheel import WheelBuilder

import discreet as dp
from discreet.datasets import rand
from discreet.policy import load_policy

ROOT = Path(__file__).parents[1]


def test_the_table_is_that_of_the_experiment() -> None:
    table = pq.read_table(rand.table)
    assert table.num_rows == 20_190
    assert pc.count_distinct(table["person"]).as_py() == 5_912
    assert pc.max(pc.value_counts(table["person"]).field("counts")).as_py() == 5
    assert all(column.null_count == 0 for column in table.columns)


def test_the_policy_fits_the_table() -> None:
    declared = load_policy(rand.policy).tables["visits"]
    table = pq.read_table(rand.table)
    assert {declared.unit, *declared.columns} == set(table.column_names)
    for name, column in declared.columns.items():
        if column.keys is not None:
            assert set(table[name].to_pylist()) <= set(column.keys), name


def test_its_script_makes_it(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "docs" / "data" / "rand.py", tmp_path / "again.parquet"], check=True)
    assert pq.read_table(tmp_path / "again.parquet").equals(pq.read_table(rand.table))


def test_its_files_are_small_and_say_their_licence() -> None:
    files = [path for path in rand.table.parent.iterdir() if path.is_file()]
    assert {rand.table, rand.policy, rand.source} == set(files)
    assert sum(path.stat().st_size for path in files) < 200_000
    assert "public domain" in rand.source.read_text(encoding="utf-8")


def test_its_files_are_in_the_wheel() -> None:
    packed = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    folder = Path("discreet", "datasets", "rand")
    assert {str(folder / path.name) for path in (rand.table, rand.policy, rand.source)} <= packed


def test_an_answer_is_near_the_truth() -> None:
    with dp.connect({rand.name: rand.table}, policy=rand.policy) as session:
        answer = session.sql("SELECT COUNT(*) AS n FROM visits", spend=dp.pure(1))
    assert abs(answer.to_arrow()["n"][0].as_py() - 20_190) < 5 * 25  # P(false alarm) = exp(-25)
