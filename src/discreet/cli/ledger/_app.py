"""`discreet ledger`: the commands on a ledger, put together."""

from __future__ import annotations

import typer

from discreet.cli._errors import careful
from discreet.cli.ledger import (
    _check as _ledger_check,
)
from discreet.cli.ledger import (
    _convert as _ledger_convert,
)
from discreet.cli.ledger import (
    _create as _ledger_create,
)
from discreet.cli.ledger import (
    _export as _ledger_export,
)
from discreet.cli.ledger import (
    _log as _ledger_log,
)
from discreet.cli.ledger import (
    _prove as _ledger_prove,
)
from discreet.cli.ledger import (
    _rights as _ledger_rights,
)
from discreet.cli.ledger import (
    _settle as _ledger_settle,
)
from discreet.cli.ledger import (
    _show as _ledger_show,
)

__all__ = ["ledgers"]


def _root() -> None:
    """Keep budgets: make a ledger, grant accounts, see what is left, and prove what was released.

    Whoever may read and write the file, or the tables, is its owner. Others get accounts, by a token.
    """


ledgers = typer.Typer(rich_markup_mode="rich", no_args_is_help=True)
ledgers.callback()(_root)
ledgers.command(epilog=_ledger_create.EXAMPLES)(careful(_ledger_create.create))
ledgers.command(epilog=_ledger_show.EXAMPLES)(careful(_ledger_show.show))
ledgers.command(epilog=_ledger_log.EXAMPLES)(careful(_ledger_log.log))
ledgers.command(epilog=_ledger_rights.GRANT)(careful(_ledger_rights.grant))
ledgers.command(epilog=_ledger_rights.ROTATE)(careful(_ledger_rights.rotate))
ledgers.command(epilog=_ledger_rights.REVOKE)(careful(_ledger_rights.revoke))
ledgers.command(epilog=_ledger_rights.FREEZE)(careful(_ledger_rights.freeze))
ledgers.command(epilog=_ledger_rights.THAW)(careful(_ledger_rights.thaw))
ledgers.command(epilog=_ledger_rights.RENEW)(careful(_ledger_rights.renew))
ledgers.command(epilog=_ledger_rights.TRANSFER)(careful(_ledger_rights.transfer))
ledgers.command(epilog=_ledger_convert.EXAMPLES)(careful(_ledger_convert.convert))
ledgers.command(epilog=_ledger_settle.EXAMPLES)(careful(_ledger_settle.settle))
ledgers.command(epilog=_ledger_check.EXAMPLES)(careful(_ledger_check.check))
ledgers.command(epilog=_ledger_prove.EXAMPLES)(careful(_ledger_prove.prove))
ledgers.command(epilog=_ledger_export.EXAMPLES)(careful(_ledger_export.export))
