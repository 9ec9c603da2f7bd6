"""The command line: `discreet query`, `plan`, `budget`, `ledger`, `policy init`, `demo` and more.

Nothing heavy is imported before a command runs, so that ``discreet --help`` is quick.
"""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line on ``sys.argv`` and exit: 0 answered, 2 bad usage, 3 over budget, 4 bad policy or data."""
    import gc
    import os
    import sys
    from pathlib import Path

    gc.set_threshold(50_000)  # what is imported stays: to look through it again and again takes a tenth of a short run

    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] — it was closed before we began
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    try:
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue]
        from discreet.cli._app import app
        from discreet.cli._errors import heed_termination

        heed_termination()
        app(prog_name="discreet")
    except KeyboardInterrupt:
        sys.exit(130)
