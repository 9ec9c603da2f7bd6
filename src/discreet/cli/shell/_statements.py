"""Where statements end: SQL at its `;`, a backslash command at the end of its line."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from discreet.cli._options import LONGEST_QUERY
from discreet.errors import ParameterError

__all__ = ["is_command", "is_complete", "piped", "split"]


def is_command(text: str) -> bool:
    r"""Whether a text is a backslash command.

    >>> is_command(r"\budget"), is_command("SELECT 1")
    (True, False)
    """
    return text.lstrip().startswith("\\")


def split(text: str) -> tuple[list[str], str]:
    """The statements of a text that have ended, without their `;`, and what follows them.

    A `;` in quotes or in a comment ends nothing: the text is cut as the planner reads it.

    >>> split("SELECT ';' AS x; SELECT -- not yet;")
    (["SELECT ';' AS x"], ' SELECT -- not yet;')
    """
    from sqlglot import TokenType, tokenize
    from sqlglot.errors import TokenError

    try:
        tokens = tokenize(text, read="duckdb")
    except TokenError:  # a quote is open
        return [], text
    statements, start = list[str](), 0
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            statements.append(text[start : token.start].strip())
            start = token.end + 1
    rest = text[start:] if any(token.start >= start for token in tokens) else ""
    return [statement for statement in statements if statement], rest


def is_complete(text: str) -> bool:
    r"""Whether there is nothing to wait for: a backslash command, SQL up to its last `;`, or nothing at all.

    >>> is_complete("SELECT COUNT(*)"), is_complete("SELECT COUNT(*) FROM t;"), is_complete(r"\help")
    (False, True, True)
    """
    return is_command(text) or not split(text)[1].strip()


def piped() -> Iterator[str]:
    """The statements on standard input, each as soon as it has ended.

    Raises `ParameterError` for what is no text, too long, or does not end.
    """
    pending = ""
    for line in _lines():
        if is_command(line):
            if split(pending)[1].strip():
                raise ParameterError(f"{line.strip()[:40]!r} stands within a statement, which does not end with `;`")
            pending = ""  # comments
            yield line.strip()
            continue
        pending += line
        if len(pending) > LONGEST_QUERY:
            raise ParameterError(f"a statement on standard input is longer than {LONGEST_QUERY:,} characters")
        if ";" in line or pending.isspace():
            statements, pending = split(pending)
            yield from statements
    if not is_complete(pending):
        raise ParameterError("the last statement on standard input does not end with `;`, so it was not asked")


def _lines() -> Iterator[str]:
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] — it was closed before we began
        return
    for line in iter(lambda: sys.stdin.buffer.readline(LONGEST_QUERY + 1), b""):
        try:
            yield line.decode("utf-8").removeprefix("\ufeff")
        except UnicodeDecodeError:
            raise ParameterError("what stands on standard input is not UTF-8 text") from None
