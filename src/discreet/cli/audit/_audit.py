"""`discreet audit`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.elapsed import elapsed
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.audit import Findings, Verdict
    from discreet.cli.audit._subjects import Asked

__all__ = ["EXAMPLES", "audit"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet audit --list\n\n"
    "  discreet audit --all --format json\n\n"
    "  With [bold]def noisy(x): ...[/bold] and [bold]def neighbours(): ...[/bold] in mine.py:\n\n"
    '  discreet audit mine:noisy --pair "\\[0, 1]" --claim "pure(1)" --probe\n\n'
    '  discreet audit mine:noisy --pairs mine:neighbours --claim "mu(0.5)"\n\n'
    "[bold]Exit codes[/bold]\n\n"
    "  0 nothing was refuted, which proves no privacy; 1 a claim was refuted; 2 bad usage"
)

REFUTED = 1


class _Format(StrEnum):
    table = "table"
    json = "json"


def audit(  # noqa: PLR0913 (options of a command line)
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME|MODULE:FUNCTION...",
            show_default=False,
            help="Mechanisms of discreet by name, or your own: a function of the data, or what has or makes an object "
            "with draw(data, size) or release(data). Modules are looked for in the current directory first.",
        ),
    ] = None,
    *,
    all_: Annotated[bool, typer.Option("--all", help="Audit all mechanisms of discreet.")] = False,
    list_: Annotated[
        bool, typer.Option("--list", help="List the mechanisms of discreet, with what they claim.")
    ] = False,
    pair: Annotated[
        list[str] | None,
        typer.Option(metavar="JSON", show_default=False, help='Two neighbouring inputs, as "[0, 1]". Repeatable.'),
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            show_default=False,
            help="A function that gives pairs of inputs, as many as 1,000.",
        ),
    ] = None,
    claim: Annotated[
        str | None,
        typer.Option(
            metavar="LOSS", show_default=False, help='What is claimed, as "pure(1)"; written as for discreet account.'
        ),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(metavar="N", show_default=False, help="Outputs to draw, over all inputs. Default: 100,000."),
    ] = None,
    confidence: Annotated[
        str, typer.Option(metavar="P", help="1 − the probability of any false alarm, over all that is audited.")
    ] = "0.95",
    delta: Annotated[
        str | None,
        typer.Option(metavar="D", show_default=False, help="The δ of the stated ε. Default: the claim's, or 1e-6."),
    ] = None,
    sequential: Annotated[bool, typer.Option("--sequential", help="Stop as soon as the claim is refuted.")] = False,
    probe: Annotated[
        bool,
        typer.Option("--probe", help="Also look for leaks by digits, reused noise, copied state, time and errors."),
    ] = False,
    form: Annotated[_Format, typer.Option("--format", help="How to print it; see docs/cli.md.")] = _Format.table,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Also draw what was claimed and certified: .svg, .png, .html, .json; needs 'discreet\\[plots]'.",
        ),
    ] = None,
) -> None:
    """Attack a claim: draw outputs on neighbouring inputs, and certify what tells them apart.

    Costs no privacy: give made-up inputs, never real data. A claim that survives is not proved.
    """
    from discreet.cli._output import print_json
    from discreet.cli.audit._print import print_audits, print_entries
    from discreet.cli.audit._subjects import asked_for, own_entries, pairs_from, user_code
    from discreet.privacy import from_text

    if list_:
        print_entries(list(own_entries().values()), as_json=form is _Format.json)
        return
    if plot is not None:
        from discreet.explain import check_path

        check_path(plot)
    if all_ and names:
        raise ParameterError("--all audits all mechanisms of discreet: leave the names out, or --all")
    if not (all_ or names):
        raise ParameterError("name what to audit, or say --all; `discreet audit --list` lists our own")
    with user_code():
        loss = None if claim is None else from_text(claim)
        asked = asked_for(names or list(own_entries()), pairs_from(pair or [], pairs), loss, samples)
        doubt = _doubt(confidence, len(asked))
        with _progress() as progress:
            held = [(each, _held(each, 1 - doubt, delta, progress, sequential=sequential)) for each in asked]
        with elapsed():
            done = [(each, verdict, _probed(each, verdict) if probe else None) for each, verdict in held]
    if form is _Format.json:
        print_json(_as_json(done))
    else:
        print_audits(done)
    if plot is not None:
        _draw(done, plot)
    if any(verdict.violated or (findings is not None and findings.violated) for _, verdict, findings in done):
        raise typer.Exit(REFUTED)


def _doubt(confidence: str, audits: int) -> float:
    """The doubt of each of so many audits, of which all shall hold."""
    from discreet.rational import rational

    sure = rational(confidence, "--confidence")
    if not 0 < sure < 1:
        raise ParameterError(f"--confidence must be above 0 and below 1, got {confidence}")
    return float((1 - sure) / audits)


def _held(
    each: Asked, confidence: float, delta: str | None, progress: Callable[[int, int], object], *, sequential: bool
) -> Verdict:
    from discreet.audit import check

    return check(
        each.drawn,
        each.pairs,
        each.claim,
        samples=each.samples,
        confidence=confidence,
        delta=each.delta if delta is None else delta,
        sequential=sequential,
        progress=progress,
    )


def _probed(each: Asked, verdict: Verdict) -> Findings:
    """On the pair that shows most, if any shows something."""
    from discreet.audit import probe

    pair = each.pairs[0] if verdict.witness is None else verdict.witness.inputs
    return probe(each.name if each.importable else each.mechanism, pair, claim=each.claim, delta=verdict.delta)


@contextmanager
def _progress() -> Generator[Callable[[int, int], object]]:
    """A bar on stderr with samples and elapsed time, where it is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():  # pyright: ignore[reportUnnecessaryComparison]
        yield lambda _drawn, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    shown = "{task.completed:,.0f} of {task.total:,.0f} samples"
    with Progress(
        BarColumn(), TextColumn(shown), TimeElapsedColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task("", total=0)
        yield lambda drawn, total: bar.update(task, completed=drawn, total=total)


def _as_json(done: list[tuple[Asked, Verdict, Findings | None]]) -> dict[str, Any]:
    audits = [
        {"name": each.name, **verdict.to_json()} | ({} if findings is None else {"probes": findings.to_json()})
        for each, verdict, findings in done
    ]
    return {
        "violated": any(
            verdict.violated or (findings is not None and findings.violated) for _, verdict, findings in done
        ),
        "audits": audits,
    }


def _draw(done: list[tuple[Asked, Verdict, Findings | None]], plot: Path) -> None:
    from discreet.explain import audit_chart, audit_table_chart, save

    if len(done) == 1:
        save(audit_chart(done[0][1]), plot)
        return
    rows = [
        {
            "name": each.name,
            "claimed": verdict.claimed,
            "certified": verdict.epsilon_lower,
            "violated": verdict.violated,
        }
        for each, verdict, _ in done
    ]
    save(audit_table_chart(rows), plot)
