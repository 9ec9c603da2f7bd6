"""How ``COPY (SELECT …) TO STDOUT`` says the format of the rows.

Source: PostgreSQL manual, reference page "COPY".
"""

from __future__ import annotations

from discreet.server.postgres._refusals import SqlError
from discreet.server.postgres.statements.words import Words
from discreet.server.postgres.values.copying import CopyFormat

__all__ = ["copied_query", "copy_format"]


def copied_query(words: Words) -> str:
    """The query whose answer is copied. Raises `SqlError` for what is no answer, and for what is no client."""
    if not words.comes("("):
        _copied_table(words)
    text = words.parenthesized().strip()
    if words.take("FROM"):
        raise SqlError("25006", "cannot execute COPY FROM here: a source is only read")
    words.must("TO")
    if not words.take("STDOUT"):
        raise SqlError("42501", "an answer is copied TO STDOUT alone: this server writes no files")
    return text


def _copied_table(words: Words) -> None:
    words.dotted()
    if words.comes("("):
        words.parenthesized()
    if words.take("FROM"):
        raise SqlError("25006", "cannot execute COPY FROM here: a source is only read")
    raise SqlError(
        "42501", "rows about people are never released", "Copy an answer: COPY (SELECT COUNT(*) FROM …) TO STDOUT."
    )


def copy_format(words: Words) -> CopyFormat:
    """The options, in parentheses or as they were written before PostgreSQL 9.0. Raises `SqlError`."""
    options: dict[str, object] = {}
    words.take("WITH")
    if words.take("("):
        while True:
            name = words.name()
            options[name] = _option(words, name)
            if not words.take(","):
                break
        words.must(")")
    else:  # as it was written before PostgreSQL 9.0
        while (
            word := words.take_any("BINARY", "CSV", "HEADER", "DELIMITER", "NULL", "QUOTE", "ESCAPE", "FORCE")
        ) is not None:
            words.take("AS")
            if word in ("BINARY", "CSV"):
                options["format"] = word.lower()
            elif word == "HEADER":
                options["header"] = True
            elif word == "FORCE":
                words.must("QUOTE")
                options["force_quote"] = None if words.take("*") else _names(words)
            else:
                options[word.lower()] = words.value()
    words.end()
    return _checked(options)


_OLD = ("BINARY", "CSV", "HEADER", "DELIMITER", "NULL", "QUOTE", "ESCAPE", "FORCE")


def _option(words: Words, name: str) -> object:
    if name == "header":
        if words.comes(",") or words.comes(")"):
            return True
        return words.value().lower() in ("true", "on", "1")
    if name == "force_quote":
        if words.take("*"):
            return None
        words.must("(")
        names = _names(words)
        words.must(")")
        return names
    return words.value()


def _names(words: Words) -> frozenset[str]:
    names = {words.name()}
    while words.take(","):
        names.add(words.name())
    return frozenset(names)


def _checked(options: dict[str, object]) -> CopyFormat:
    kind = str(options.pop("format", "text")).lower()
    if str(options.pop("encoding", "utf8")).lower().replace("-", "") != "utf8":
        raise SqlError("0A000", "texts are in UTF-8 here")
    if kind == "binary":
        if options:
            raise SqlError("42601", "the binary format has no options")
        return CopyFormat("binary")
    if kind not in ("text", "csv"):
        raise SqlError("22023", "the formats to copy in are text, csv and binary")
    csv = kind == "csv"
    allowed = {"delimiter", "null", "header", *(("quote", "escape", "force_quote") if csv else ())}
    if unknown := options.keys() - allowed:
        raise SqlError("42601", f"there is no option {sorted(unknown)[0]} of COPY in format {kind}")
    quote = str(options.get("quote", '"'))
    forced = options.get("force_quote", frozenset())
    how = CopyFormat(
        "csv" if csv else "text",
        str(options.get("delimiter", "," if csv else "\t")),
        str(options.get("null", "" if csv else "\\N")),
        bool(options.get("header", False)),
        quote,
        str(options.get("escape", quote)),
        forced if isinstance(forced, frozenset) else None,
    )
    single = [how.delimiter, how.quote, how.escape]
    if any(len(each.encode()) != 1 or each in "\r\n" for each in single) or set("\r\n") & set(how.null):
        raise SqlError("22023", "a delimiter, a quote and an escape are one character each, and no line break")
    if (csv and how.delimiter == how.quote) or (not csv and how.delimiter in "\\.abcdefghijklmnopqrstuvwxyz0123456789"):
        raise SqlError("22023", "this delimiter cannot be told from the rows")
    if how.delimiter in how.null or (csv and how.quote in how.null):
        raise SqlError("22023", "the text for null holds no delimiter and no quote")
    return how
