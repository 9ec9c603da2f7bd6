"""`discreet synth`: the commands on synthetic tables, put together."""

from __future__ import annotations

import typer

from discreet.cli._errors import careful
from discreet.cli.synth import _fit, _plan, _sample, _show

__all__ = ["synthesizing"]


def _root() -> None:
    """Make synthetic tables: charged once, then any number of rows for nothing.

    A synthetic row may equal a real one by chance; what holds is the loss that was charged.
    """


synthesizing = typer.Typer(rich_markup_mode="rich", no_args_is_help=True)
synthesizing.callback()(_root)
synthesizing.command(epilog=_plan.EXAMPLES)(careful(_plan.plan))
synthesizing.command(epilog=_fit.EXAMPLES)(careful(_fit.fit))
synthesizing.command(epilog=_sample.EXAMPLES)(careful(_sample.sample))
synthesizing.command(epilog=_show.EXAMPLES)(careful(_show.show))
