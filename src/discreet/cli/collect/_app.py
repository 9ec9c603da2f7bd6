"""`discreet collect`: the commands of local privacy, put together."""

from __future__ import annotations

import typer

from discreet.cli._errors import careful
from discreet.cli.collect import (
    _encode as _collect_encode,
)
from discreet.cli.collect import (
    _estimate as _collect_estimate,
)
from discreet.cli.collect import (
    _scheme as _collect_scheme,
)
from discreet.cli.collect import (
    _serve as _collect_serve,
)

__all__ = ["collecting"]


def _root() -> None:
    """Collect without being trusted: devices perturb what they report, a collector adds up and estimates.

    One document, the scheme, is for both sides; everything in it is public. See docs/collecting.md.
    """


collecting = typer.Typer(rich_markup_mode="rich", no_args_is_help=True)
collecting.callback()(_root)
collecting.command(epilog=_collect_scheme.EXAMPLES)(careful(_collect_scheme.scheme))
collecting.command(epilog=_collect_encode.EXAMPLES)(careful(_collect_encode.encode))
collecting.command(epilog=_collect_serve.EXAMPLES)(careful(_collect_serve.serve))
collecting.command(epilog=_collect_estimate.EXAMPLES)(careful(_collect_estimate.estimate))
