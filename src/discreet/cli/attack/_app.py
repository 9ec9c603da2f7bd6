"""`discreet attack`: the attacks, put together."""

from __future__ import annotations

import typer

from discreet.cli._errors import careful
from discreet.cli.attack import _releases, _synthetic

__all__ = ["attacking"]


def _root() -> None:
    """Attack a table before it is published: what it gives away, beside the same guesser without it.

    Spends nothing, and needs no ledger: run it where the private rows are. An attack that shows no advantage proves
    nothing; another one may have one.
    """


attacking = typer.Typer(rich_markup_mode="rich", no_args_is_help=True)
attacking.callback()(_root)
attacking.command(epilog=_releases.EXAMPLES)(careful(_releases.linkage))
attacking.command(epilog=_releases.EXAMPLES)(careful(_releases.histories))
attacking.command(epilog=_releases.EXAMPLES)(careful(_releases.homogeneity))
attacking.command(epilog=_releases.EXAMPLES)(careful(_releases.intersection))
attacking.command(epilog=_releases.EXAMPLES)(careful(_releases.downcoding))
attacking.command(epilog=_releases.EXAMPLES)(careful(_releases.minimality))
attacking.command(epilog=_synthetic.EXAMPLES)(careful(_synthetic.singling_out))
attacking.command(epilog=_synthetic.EXAMPLES)(careful(_synthetic.linkability))
attacking.command(epilog=_synthetic.EXAMPLES)(careful(_synthetic.inference))
attacking.command(epilog=_synthetic.EXAMPLES)(careful(_synthetic.closeness))
