"""`discreet policy`: the commands on a policy, put together."""

from __future__ import annotations

import typer

from discreet.cli._errors import careful
from discreet.cli.policy import _check, _init

__all__ = ["policies"]


def _root() -> None:
    """Write policies, the public facts of a source, and see what they allow."""


policies = typer.Typer(rich_markup_mode="rich", no_args_is_help=True)
policies.callback()(_root)
policies.command(epilog=_init.EXAMPLES)(careful(_init.init))
policies.command(epilog=_check.EXAMPLES)(careful(_check.check))
