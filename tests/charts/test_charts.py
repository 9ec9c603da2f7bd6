"""Which kind of chart a released table calls for, what it shows of errors, and that Vega-Lite takes it."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import altair
import pyarrow as pa
import pytest
import vl_convert

from discreet.charts import chart, load_altair
from discreet.errors import MissingExtra, ParameterError

DAYS = [dt.date(2026, 1, 31) + dt.timedelta(days=i) for i in range(6)]
HOURS = [dt.datetime(2026, 1, 31, i) for i in range(4)]  # noqa: DTZ001 — as released


def views(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The views of a chart that have data of their own."""
    parts = spec.get("concat") or spec.get("hconcat") or []
    return ([spec] if "data" in spec else []) + [view for part in parts for view in views(part)]


def rows(view: dict[str, Any]) -> list[dict[str, Any]]:
    return view["data"]["values"]


def marks(view: dict[str, Any]) -> list[str]:
    layers = view.get("spec", view).get("layer", [])
    return [layer["mark"]["type"] for layer in layers]


def notes(spec: dict[str, Any]) -> str:
    return "\n".join(spec["title"]["subtitle"])


def drawn(spec: dict[str, Any]) -> str:
    """The chart as SVG, by way of altair, which checks it against the schema of Vega-Lite."""
    return vl_convert.vegalite_to_svg(altair.Chart.from_dict(json.loads(json.dumps(spec, allow_nan=False))).to_dict())


def counts(keys: dict[str, Sequence[Any]], values: Sequence[float | None], half: float = 5) -> dict[str, Any]:
    return chart(pa.table({**keys, "n": values}), {"n": [half] * len(values)}, words={"n": "number of rows"})


def grid(first: Sequence[Any], second: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    return [a for a in first for _ in second], [b for _ in first for b in second]


BARS = ["bar", "errorbar", "text"]
LINES = ["area", "line", "point"]
HEAT = ["rect", "text"]
KINDS: list[tuple[str, dict[str, Sequence[Any]], list[list[str]]]] = [
    ("no key", {}, [["errorbar", "point", "text"]]),
    ("one text", {"k": ["only"]}, [["errorbar", "point", "text"]]),
    ("texts", {"k": ["a", "b", "c"]}, [BARS]),
    ("truth values", {"k": [True, False]}, [BARS]),
    ("few numbers", {"k": list(range(15))}, [BARS]),
    ("many numbers", {"k": list(range(16))}, [LINES]),
    ("many fractions", {"k": [i / 4 for i in range(16)]}, [LINES]),
    ("two dates", {"k": DAYS[:2]}, [BARS]),
    ("dates", {"k": DAYS}, [LINES]),
    ("timestamps", {"k": HOURS}, [LINES]),
    ("dates and null", {"k": [*DAYS, None]}, [LINES, ["errorbar", "point"]]),
    ("two texts", dict(zip("jk", grid("ab", "cde"), strict=True)), [HEAT]),
    ("text and few numbers", dict(zip("jk", grid("ab", range(24)), strict=True)), [HEAT]),
    ("text and many numbers", dict(zip("jk", grid("ab", range(41)), strict=True)), [LINES]),
    ("five texts and dates", dict(zip("jk", grid("abcde", DAYS), strict=True)), [LINES]),
    ("six texts and dates", dict(zip("jk", grid("abcdef", DAYS), strict=True)), [LINES]),
    ("dates and dates", dict(zip("jk", grid(DAYS, DAYS), strict=True)), [HEAT]),
    ("three keys", {"i": ["a", "a", "b"], "j": [1, 2, 1], "k": DAYS[:3]}, [BARS]),
    ("a key of one value", {"j": ["same"] * 6, "k": DAYS}, [LINES]),
]


@pytest.mark.parametrize(("keys", "kinds"), [each[1:] for each in KINDS], ids=[each[0] for each in KINDS])
def test_the_types_of_the_keys_choose_the_kind(keys: dict[str, Sequence[Any]], kinds: list[list[str]]) -> None:
    size = len(next(iter(keys.values()), [0]))
    spec = counts(keys, list(range(10, 10 + size)))
    assert [marks(view) for view in views(spec)] == kinds
    assert sum(len(rows(view)) for view in views(spec)) == size
    assert drawn(spec).startswith("<svg")


def test_more_than_five_lines_have_a_panel_each() -> None:
    five, six = (
        counts(dict(zip("jk", grid(texts, DAYS), strict=True)), [1] * 6 * len(texts)) for texts in ("abcde", "abcdef")
    )
    assert five["layer"][1]["encoding"]["color"]["field"] == "series" and "facet" not in five
    assert six["facet"]["field"] == "series" and "j from" not in notes(five)
    assert "k from 2026-01-31 on" in notes(six)


def test_every_value_has_its_interval() -> None:
    spec = chart(pa.table({"k": list("abcd"), "x": [10.0, 4.0, 7.5, None]}), {"x": [2.0, math.inf, math.nan, 1.0]})
    assert [(row["low"], row["high"]) for row in rows(spec)] == [(8.0, 12.0), (None, None), (None, None), (None, None)]
    assert [row["shown"] for row in rows(spec)] == ["10 ± 2", "4 ± ∞", "7.500", "NULL"]
    assert [row["interval"] for row in rows(spec)] == ["8 to 12", "unbounded", "none", "none"]
    assert "± ∞: noise leaves nothing known of 1 of 4 values of x" in notes(spec)
    bar = spec["layer"][1]["encoding"]
    assert (bar["x"]["field"], bar["x2"]["field"]) == ("low", "high")
    assert "interval: 8 to 12" in drawn(spec) and ">10 ± 2<" in drawn(spec)


def test_figures_have_the_digits_of_their_errors_and_thousands() -> None:
    values, halves = [1_234_567, 1234.5678, 0.01234, 24.5], [1_200.0, 0.25, 0.0004, 0.31]
    spec = chart(pa.table({"k": list("abcd"), "x": values}), {"x": halves}, approximate=["x"])
    assert [row["shown"] for row in rows(spec)] == [
        "1,234,567 ± ~1,200",
        "1,234.57 ± ~0.25",
        "0.01234 ± ~0.00040",
        "24.50 ± ~0.31",
    ]
    assert spec["layer"][0]["encoding"]["x"]["axis"]["format"] == ",.12~r"
    assert ">1,200,000<" in drawn(spec) and "e+" not in drawn(spec)


def test_labels_are_short_and_different() -> None:
    names = ["Department of Public Works, east of the river", "Department of Public Works, west of the river"]
    spec = counts({"k": [*names, None, "(null)", "", "a\x1b[2J", "x"]}, [1] * 7)
    labels = [row["label"] for row in rows(spec)]
    assert len(set(labels)) == 7 and all(len(label) <= 32 for label in labels)
    assert labels[:2] == ["Department of Pu…f the river", "Department of Pu…f the river #2"]
    assert labels[2:] == ["(null)", "'(null)'", "''", "a\\x1b[2J", "x"]


def test_bars_keep_the_order_of_the_answer_and_are_cut_to_the_largest() -> None:
    few = counts({"k": ["b", "c", "a"]}, [1, 3, 2])
    assert [row["label"] for row in rows(few)] == ["b", "c", "a"]
    many = counts({"k": [f"k{i}" for i in range(812)]}, [(i * 9) % 812 for i in range(812)])
    assert [row["value"] for row in rows(many)] == list(range(811, 781, -1))
    assert "top 30 of 812 by n" in notes(many)


def test_lines_are_cut_where_there_are_too_many() -> None:
    long = counts({"k": list(range(5_500, 0, -1))}, [1] * 5_500)
    assert [row["at"] for row in rows(long)] == list(range(1, 5_001))
    assert "first 5,000 of 5,500 rows" in notes(long)
    names, days = grid([f"s{i}" for i in range(15)], [*DAYS, None])
    many = counts({"j": names, "k": days}, [i // 7 for i in range(105)])
    assert {row["series"] for row in rows(many)} == {f"s{i}" for i in range(3, 15)}
    assert "top 12 of 15 values of j by n" in notes(many) and "12 rows whose k is null are not drawn" in notes(many)


def test_dates_lie_where_they_are_in_utc() -> None:
    spec = counts({"k": [*DAYS, None]}, [1] * 7)
    line, aside = views(spec)
    assert [row["at"] for row in rows(line)] == [1_769_817_600_000 + 86_400_000 * i for i in range(6)]
    x = line["layer"][0]["encoding"]["x"]
    assert (x["type"], x["scale"]["type"], x["title"]) == ("temporal", "utc", "k, 2026-01-31 to 2026-02-05")
    assert [row["label"] for row in rows(aside)] == ["(null)"]
    assert spec["resolve"]["scale"]["y"] == "shared"


def test_lines_begin_at_zero_unless_all_values_are_far_from_it() -> None:
    near, far = (counts({"k": DAYS}, [base + i for i in range(6)]) for base in (3, 1000))
    assert [spec["layer"][1]["encoding"]["y"]["scale"]["zero"] for spec in (near, far)] == [True, False]


def test_cells_are_marked_where_the_interval_is_wider_than_the_value() -> None:
    first, second = grid("ab", "cd")
    spec = chart(pa.table({"j": first, "k": second, "n": [100, 9, -3, 20]}), {"n": [10.0, 10.0, 10.0, math.inf]})
    assert [row["text"] for row in rows(spec)] == ["100", "9 ×", "-3 ×", "20 ×"]
    assert [row["dark"] for row in rows(spec)] == [True, False, False, False]
    assert "× interval wider than the value" in notes(spec)
    assert "grey cells" not in notes(spec)
    titles = [entry["title"] for entry in spec["layer"][0]["encoding"]["tooltip"]]
    assert titles == ["j", "k", "n", "interval"]


def test_heat_maps_show_what_is_not_there_and_values_below_zero() -> None:
    gaps = counts({"j": ["a", "a", "b"], "k": ["c", "d", "c"]}, [1, 2, 3])
    assert "grey cells are not in the answer" in notes(gaps)
    first, second = grid("ab", "cd")
    signed = counts({"j": first, "k": second}, [-40, 20, 30, 5])
    assert signed["layer"][0]["encoding"]["color"]["scale"]["domain"] == [-40, 40]
    large = counts(dict(zip("jk", grid(range(35), range(33)), strict=True)), list(range(35 * 33)))
    assert len(rows(large)) == 900
    assert "top 30 of 35 values of j by n" in notes(large) and "top 30 of 33 values of k by n" in notes(large)
    assert {row["text"] for row in rows(large)} <= {"", "×"}


def test_several_columns_have_a_panel_each_and_counts_share_one() -> None:
    table = pa.table({"k": ["a", "b"], "n": [5, 6], "m": [1, 2], "x": [0.5, 0.7]})
    errors = {name: [1.0, 1.0] for name in ("n", "m", "x")}
    apart = chart(table, errors, counts=["n", "m"])
    assert [marks(view) for view in views(apart)] == [BARS] * 3 and apart["columns"] == 3
    assert [view["layer"][0]["encoding"]["y"]["axis"] is None for view in views(apart)] == [False, True, True]
    shared = chart(table.drop_columns("x"), {"n": [1.0, 1.0], "m": [1.0, 1.0]}, counts=["n", "m"])
    assert [(row["label"], row["column"], row["value"]) for row in rows(shared)] == [
        ("a", "n", 5),
        ("a", "m", 1),
        ("b", "n", 6),
        ("b", "m", 2),
    ]
    wide = pa.table({"k": ["a", "b"], **{f"x{i}": [1.0, 2.0] for i in range(9)}})
    spec = chart(wide, {f"x{i}": [0.1, 0.1] for i in range(9)})
    assert len(views(spec)) == 6 and "6 of 9 columns" in notes(spec)
    for each in (apart, shared, spec):
        assert drawn(each).startswith("<svg")


def test_the_title_says_what_is_drawn() -> None:
    table = pa.table({"j": ["x", "x"], "k": ["a", "b"], "n": [5, 6], "m": [1, 2]})
    errors = {"n": [1.0, 1.0], "m": [1.0, 1.0]}
    spec = chart(
        table, errors, words={"n": "number of rows", "m": "sum of cost"}, subtitle="95 %", notes=["where late"]
    )
    assert spec["title"] == {"text": "Number of rows, sum of cost by k", "subtitle": ["95 % · j = x · where late"]}
    long = chart(table, errors, words={"n": "number of rows where " + "a" * 60})
    assert long["title"]["text"] == "n, m by k"
    totals = counts({"j": ["a", "a", None], "k": ["b", None, None]}, [1, 2, 3])
    assert totals["title"]["text"] == "Number of rows by j and k"


def test_totals_stand_beside_their_parts() -> None:
    table = pa.table({"j": ["a", "a", None], "k": ["b", None, None], "n": [1, 2, 3]})
    spec = chart(table, {"n": [0.5] * 3}, totals=True)
    assert [row["label"] for row in rows(spec)] == ["a · b", "a · (null)", "(null) · (null)"]
    assert "(null) may be a total over that key" in notes(spec)


def test_rows_without_keys_are_numbered() -> None:
    spec = counts({}, [4, 5])
    assert [row["label"] for row in rows(spec)] == ["1", "2"]


def test_an_answer_without_rows_or_without_noise() -> None:
    empty = chart(pa.table({"k": pa.array([], pa.string()), "n": pa.array([], pa.int64())}), {"n": []})
    assert "the answer has no rows" in notes(empty) and drawn(empty).startswith("<svg")
    with pytest.raises(ParameterError, match="ask for a COUNT"):
        chart(pa.table({"k": ["a"]}), {})


def texts(node: Any) -> Iterator[str]:
    match node:
        case str():
            yield node
        case dict():
            for part in node.values():
                yield from texts(part)
        case list():
            for part in node:
                yield from texts(part)
        case _:
            pass


HOSTILE = "</script><!--\x1b"


@pytest.mark.parametrize("kind", ["bars", "lines", "small", "heat", "joined", "number", "grouped"])
def test_no_released_text_steers_a_page_or_a_terminal(kind: str) -> None:
    keys: dict[str, Sequence[Any]] = {HOSTILE: [HOSTILE, "b", "c"]}
    if kind == "lines":
        keys = dict(zip((HOSTILE, "k"), grid([HOSTILE, "b"], DAYS), strict=True))
    elif kind == "small":
        keys = dict(zip((HOSTILE, "k"), grid([HOSTILE, *"bcdef"], DAYS), strict=True))
    elif kind == "heat":
        keys = dict(zip((HOSTILE, "k"), grid([HOSTILE, "b"], "cd"), strict=True))
    elif kind == "joined":
        keys = {HOSTILE: [HOSTILE, "b"], "j": ["a", "b"], "k": ["c", "d"]}
    elif kind == "number":
        keys = {HOSTILE: [HOSTILE]}
    size = len(keys[HOSTILE])
    values = {f"n{HOSTILE}": [3] * size, f"m{HOSTILE}": [4] * size}
    errors = {name: [math.inf] * size for name in values}
    counted = values if kind == "grouped" else ()
    spec = chart(
        pa.table({**keys, **values}), errors, words=dict.fromkeys(values, HOSTILE), counts=counted, notes=[HOSTILE]
    )
    for text in texts(spec):
        assert text.isprintable() and "</" not in text and "<!" not in text


GOLDEN = Path(__file__).with_name("golden")


@pytest.mark.parametrize("name", ["bars", "lines", "heat"])
def test_golden(name: str) -> None:
    keys = {
        "bars": {"city": ["Bern", None]},
        "lines": {"day": DAYS[:3]},
        "heat": dict(zip(("city", "plan"), grid(["Bern", "Ulm"], ["free", "gold"]), strict=True)),
    }[name]
    size = len(next(iter(keys.values())))
    spec = chart(
        pa.table({**keys, "n": [120, 8, 40, 3][:size]}),
        {"n": [6.0] * size},
        words={"n": "number of rows"},
        subtitle="95 % intervals of the noise, ε = 0.5",
    )
    assert spec == json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


def test_without_altair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.charts._altair.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"pip install 'discreet\[plots\]'"):
        load_altair()
    assert counts({}, [3])["layer"]
