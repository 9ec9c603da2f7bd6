"""`discreet census`: the commands on statistical tables, put together."""

from __future__ import annotations

import typer

from discreet.cli._errors import careful
from discreet.cli.census import _area, _detail, _histogram, _marginals, _plan, _publish, _saved, _show

__all__ = ["publishing"]


def _root() -> None:
    """Publish tables of nested areas: integers that add up, beside each the unbiased number and its interval.

    A specification lists areas, tables and shares of the budget. All of it is public, and so is every error, before
    anything is paid.
    """


publishing = typer.Typer(rich_markup_mode="rich", no_args_is_help=True)
publishing.callback()(_root)
publishing.command(epilog=_plan.EXAMPLES)(careful(_plan.plan))
publishing.command(epilog=_publish.EXAMPLES)(careful(_publish.publish))
publishing.command(epilog=_show.EXAMPLES)(careful(_show.show))
publishing.command(epilog=_area.EXAMPLES)(careful(_area.area))
publishing.command(epilog=_detail.EXAMPLES)(careful(_detail.detail))
publishing.command(epilog=_histogram.EXAMPLES)(careful(_histogram.histogram))
publishing.command("range", epilog=_saved.EXAMPLES)(careful(_saved.count_range))
publishing.command(epilog=_marginals.EXAMPLES)(careful(_marginals.marginals))
