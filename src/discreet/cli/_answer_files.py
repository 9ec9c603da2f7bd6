"""What `discreet query` writes beside what it prints: the answer as a table or JSON, its chart, the whole release."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.privacy import Loss
    from discreet.query import Plan, Release

__all__ = ["AnswerFiles"]

_SUFFIXES = (".parquet", ".csv", ".json")


@dataclass(frozen=True, slots=True)
class AnswerFiles:
    """The files of one answer, each None where it is not asked for."""

    save: Path | None = None
    output: Path | None = None
    plot: Path | None = None

    def check(self) -> None:
        """Raise `ParameterError` or `MissingExtra` where a file cannot be written: before anything is spent."""
        from discreet.release import check_new_file

        named = [path.resolve() for path in (self.save, self.output, self.plot) if path is not None]
        if len(set(named)) < len(named):
            raise ParameterError("--save, --output and --plot write a file each; name different ones")
        if self.output is not None and self.output.suffix.lower() not in _SUFFIXES:
            raise ParameterError(
                f"--output is a file that ends in {', '.join(_SUFFIXES)}, which says its format; got {self.output.name}"
            )
        for path in (self.save, self.output):
            if path is not None:
                check_new_file(path)
        if self.plot is not None:
            from discreet.explain import check_path

            check_path(self.plot)

    def check_plan(self, plan: Plan) -> None:
        """Raise `ParameterError` for a plot of a query whose answer has nothing to draw."""
        if self.plot is not None and not plan.numbers:
            raise ParameterError("there is nothing to draw: no number of the answer has noise; ask for a COUNT too")

    def write(self, release: Release, remaining: Loss, level: float) -> None:
        """Write them. Raises `DataError` or `ParameterError` where one cannot be written after all."""
        from discreet.release import write_file

        if self.save is not None:
            release.save(self.save)
        if self.output is not None:
            write_file(_content(release, remaining, level, self.output.suffix.lower()), self.output)
        if self.plot is not None:
            from discreet.explain import save

            save(release.plot(level), self.plot)


def _content(release: Release, remaining: Loss, level: float, suffix: str) -> bytes:
    if suffix == ".json":
        from discreet.cli._output import release_json

        return f"{json.dumps(release_json(release, remaining, level), allow_nan=False)}\n".encode()
    table = release.to_arrow(errors=True, level=level)
    if suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        return sink.getvalue().to_pybytes()
    from discreet.query import plain_value

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    columns = [[plain_value(value) for value in column.to_pylist()] for column in table.columns]
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue().encode()
