"""`discreet graph`: the commands on graphs, put together."""

from __future__ import annotations

import typer

from discreet.cli._errors import careful
from discreet.cli.graph import _count, _synth

__all__ = ["graphing"]


def _root() -> None:
    r"""Ask about a graph whose edges are the rows of a table, with the privacy of each edge, or of each person.

    The policy declares it under \[graphs.NAME], and says which. Where edges are protected, a person with k edges is
    protected with k times what one edge is.
    """


graphing = typer.Typer(rich_markup_mode="rich", no_args_is_help=True)
graphing.callback()(_root)
graphing.command(epilog=_count.PLAN_EXAMPLES)(careful(_count.plan))
graphing.command(epilog=_count.COUNT_EXAMPLES)(careful(_count.count))
graphing.command(epilog=_count.DEGREES_EXAMPLES)(careful(_count.degrees))
graphing.command(epilog=_count.MIXING_EXAMPLES)(careful(_count.mixing))
graphing.command(epilog=_count.CUTS_EXAMPLES)(careful(_count.cuts))
graphing.command(epilog=_synth.SYNTH_EXAMPLES)(careful(_synth.synth))
