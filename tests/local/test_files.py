"""Reports in files: the same counts as in memory, and nothing that a file can break."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from local_schemes import ALL, SMALL

from discreet.errors import DataError, ParameterError
from discreet.local import KaryRandomizedResponse, Reports, Server, _spark, add_files, add_frame, to_arrow

SCHEME = KaryRandomizedResponse(domain=500, epsilon=1)


def written(path, table: pa.Table):
    pyarrow.parquet.write_table(table, path)
    return path


@pytest.mark.parametrize("name", SMALL)
def test_files_and_memory_make_the_same_server(name, tmp_path) -> None:
    scheme = SMALL[name]("1")
    batches = [scheme.simulate([i % scheme.domain.size for i in range(n)]) for n in (1, 500, 3)]
    for number, batch in enumerate(batches[:2]):
        written(tmp_path / f"{number}.parquet", to_arrow(batch))
    pyarrow.feather.write_feather(to_arrow(batches[2]), tmp_path / "2.arrow")
    expected = scheme.server().add(Reports.together(batches))
    found = add_files(scheme.server(), [str(tmp_path / "*.parquet"), tmp_path / "2.arrow"])
    assert bytes(found) == bytes(expected)
    first = scheme.server().add(batches[0])
    assert add_files(first, tmp_path / "0.parquet") is first
    assert first.reports == 2


def test_other_schemes_are_passed_over_and_odd_rows_rejected(tmp_path) -> None:
    other = KaryRandomizedResponse(domain=500, epsilon=2)
    mine = to_arrow(SCHEME.simulate(range(100)))
    rows = [b"", b"\x01", b"\x01\x00\x00", None, b"\xff\xff", b"\x05\x00"]
    odd = pa.table({"scheme": [SCHEME.fingerprint] * 6, "report": pa.array(rows, pa.binary())})
    nobody = pa.table({"scheme": pa.array([None, b"", b"x" * 8], pa.binary()), "report": [b"\x01\x00"] * 3})
    written(tmp_path / "all.parquet", pa.concat_tables([mine, to_arrow(other.simulate(range(50))), odd, nobody]))
    found = add_files(SCHEME.server(), tmp_path / "all.parquet")
    assert (found.reports, found.rejected) == (101, 5)
    assert bytes(
        add_files(SCHEME.server(), written(tmp_path / "none.parquet", to_arrow(SCHEME.simulate([]))))
    ) == bytes(SCHEME.server())


def test_files_that_are_none_are_refused_and_count_nothing(tmp_path) -> None:
    good = written(tmp_path / "good.parquet", to_arrow(SCHEME.simulate([1, 2, 3])))
    (tmp_path / "noise.parquet").write_bytes(bytes(range(256)) * 9)
    (tmp_path / "noise.arrow").write_bytes(bytes(range(256)) * 9)
    (tmp_path / "cut.parquet").write_bytes(good.read_bytes()[:-9])
    written(tmp_path / "columns.parquet", pa.table({"scheme": [b"a"], "other": [b"b"]}))
    written(tmp_path / "types.parquet", pa.table({"scheme": [1], "report": [2.5]}))
    for name in ("noise.parquet", "noise.arrow", "cut.parquet", "columns.parquet", "types.parquet", "missing.parquet"):
        server = SCHEME.server()
        with pytest.raises(DataError, match="cannot be read"):
            add_files(server, [good, tmp_path / name])
        assert server.reports == 0
    with pytest.raises(ParameterError):
        add_files(SCHEME.server(), [])


def test_many_rows_and_slices(tmp_path) -> None:
    values = np.arange(300_000) % 500
    reports = SCHEME.simulate(values)
    pyarrow.parquet.write_table(to_arrow(reports), tmp_path / "many.parquet", row_group_size=70_001)
    expected = SCHEME.server().add(reports)
    assert bytes(add_files(SCHEME.server(), tmp_path / "many.parquet")) == bytes(expected)


PANDAS = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")


@PANDAS
@pytest.mark.spark
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("kary", "optimized_unary", "count_mean") else pytest.mark.soak)
        for name in ALL
    ],
)
def test_spark_and_files_make_the_same_server(name, spark, tmp_path) -> None:
    scheme = ALL[name]("1")
    for number, n in enumerate((1, 500, 0, 3)):
        written(tmp_path / f"{number}.parquet", to_arrow(scheme.simulate([i % scheme.domain.size for i in range(n)])))
    rows = [b"", b"\xff" * (scheme.layout.width + 1), None]
    written(tmp_path / "odd.parquet", pa.table({"scheme": [scheme.fingerprint] * 3, "report": rows}))
    written(tmp_path / "other.parquet", to_arrow(SCHEME.simulate([1, 2, 3])))
    expected = add_files(scheme.server(), str(tmp_path / "*.parquet"))
    assert (expected.reports, expected.rejected) == (504, 3)
    frame = spark.read.parquet(str(tmp_path)).repartition(3)
    server = scheme.server()
    assert add_frame(server, frame) is server
    assert bytes(server) == bytes(expected)


def test_tasks_send_pieces_that_add_up_to_one_state() -> None:
    """What Spark's workers do, without Spark: two tasks that count, one with nothing to count, and two that add up."""
    scheme = KaryRandomizedResponse(domain=5000, epsilon=1)
    batches = [scheme.simulate(np.arange(n) % 5000) for n in (3000, 1, 70_000)]
    columns = [pa.RecordBatch.from_pydict({"report": to_arrow(each)["report"].combine_chunks()}) for each in batches]
    count = _spark._counter(scheme.to_json())
    sent = [*count(iter(columns[:2])), *count(iter(columns[2:])), *count(iter(()))]
    assert [each.num_rows for each in sent] == [5, 5, 0]
    vector = np.zeros(5002, dtype=np.int64)
    for turn in (0, 1):  # by the number of the piece, as the shuffle parts them
        masks = [pa.array([number % 2 == turn for number in each["piece"].to_pylist()], pa.bool_()) for each in sent]
        mine = [each.filter(mask) for each, mask in zip(sent, masks, strict=True)]
        for added in _spark._add_up(iter(mine)):
            for number, counts in zip(added["piece"].to_pylist(), added["counts"].to_pylist(), strict=True):
                vector[1024 * number :][: len(counts) // 8] += np.frombuffer(counts, dtype="<i8")
    expected = scheme.server().add(Reports.together(batches))
    assert Server.of_vector(scheme, vector) == expected
    assert np.array_equal(expected.vector, vector)
    for wrong in (vector[:-1], np.append(vector, 0), vector.reshape(1, -1), -vector):
        with pytest.raises(DataError):
            Server.of_vector(scheme, wrong)


@PANDAS
@pytest.mark.spark
def test_frames_that_are_none_are_refused_and_count_nothing(spark) -> None:
    server = SCHEME.server()
    for frame in (spark.range(3), spark.createDataFrame([("a", "b")], ["scheme", "report"]), None, 5):
        with pytest.raises(ParameterError, match="binary columns"):
            add_frame(server, frame)
    broken = spark.sql(f"SELECT x'{SCHEME.fingerprint.hex()}' AS scheme, CAST(raise_error('no') AS BINARY) AS report")
    with pytest.raises(DataError, match="Spark could not"):
        add_frame(server, broken)
    assert server.reports == server.rejected == 0


def test_arrow_files_may_have_wildcards(tmp_path) -> None:
    scheme = KaryRandomizedResponse(domain=5, epsilon=1)
    for day in ("monday", "tuesday"):
        (tmp_path / day).mkdir()
        pyarrow.feather.write_feather(to_arrow(scheme.simulate([0, 1, 2])), str(tmp_path / day / "part [1].arrow"))
    assert add_files(scheme.server(), str(tmp_path / "*" / "*.arrow")).reports == 6
    assert add_files(scheme.server(), str(tmp_path / "monday" / "part [1].arrow")).reports == 3
    with pytest.raises(DataError, match="cannot be read"):
        add_files(scheme.server(), str(tmp_path / "*" / "*.feather"))
