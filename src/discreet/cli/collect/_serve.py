"""`discreet collect serve`."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.collect._options import SchemeOption, StoreOption

__all__ = ["EXAMPLES", "serve"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet collect serve --scheme emoji.json --store emoji.store\n\n"
    '  curl -H "Idempotency-Key: $(uuidgen)" -H "Content-Type: application/octet-stream" --data-binary @report '
    "http://127.0.0.1:8000/reports\n\n"
    "POST /reports takes a batch, GET /scheme is the document, GET /healthz says whether the store can be written. "
    "SIGTERM ends it after the requests that have begun. Put a proxy in front of it for TLS."
)


def serve(  # noqa: PLR0913 (options of a command line)
    *,
    scheme: SchemeOption,
    store: StoreOption,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65_535, help="Where to listen; 0 picks one.")] = 8000,
    max_body: Annotated[
        int, typer.Option(metavar="BYTES", min=1, max=1 << 30, help="The largest batch; in JSON 256 KiB at most.")
    ] = 1 << 24,
    connections: Annotated[
        int, typer.Option(metavar="N", min=1, max=1_000_000, help="How many connections are open at once.")
    ] = 1_000,
    remember: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            max=10**12,
            help="How many of the newest batches are remembered, at 100 bytes each. An older one, sent "
            "again, counts again.",
        ),
    ] = 10_000_000,
) -> None:
    """Collect batches of reports over HTTP. A batch is on disk before it is acknowledged, and is counted once.

    Addresses, user agents, times and keys of requests are neither logged nor stored.
    """
    from discreet.cli.collect._options import scheme_from
    from discreet.server import collector

    limits = collector.Limits(
        body=max_body, held=max(4 * max_body, 1 << 26), connections=connections, remember=remember
    )
    collector.serve(scheme_from(scheme), store, host=host, port=port, limits=limits, on_status=_tell)


def _tell(line: str) -> None:
    from discreet.errors import printable

    typer.echo(printable(line), err=True)
