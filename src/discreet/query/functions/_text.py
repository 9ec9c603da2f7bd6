"""Functions of texts, which are counted in code points. What is put together is cut, so that memory stays bounded."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.functions._calls import Call
from discreet.query.functions._ranges import Range
from discreet.query.functions._spec import Function, Kind, Scope, takes

__all__ = ["LONGEST_STORED_TEXT", "LONGEST_TEXT", "TEXTS"]

LONGEST_TEXT = 4_000
"""Characters of each text that is put together with another, and of the result."""
LONGEST_STORED_TEXT = 2**14
"""Characters of a text as a query reads it; of a longer one, the beginning."""
_MOST_REPLACEMENT = 50
_TEXTS = takes("string", gives="string")


def _literal(node: exp.Expr) -> str | None:
    node = node.unnest()
    return node.name if isinstance(node, exp.Literal) and node.is_string else None


def _replace(call: Call, scope: Scope) -> Kind:
    searched, replacement = map(_literal, call.args[1:])
    if searched is None or replacement is None or len(replacement) > _MOST_REPLACEMENT:
        raise QueryError(f"REPLACE takes two constants in quotes, the second of at most {_MOST_REPLACEMENT} characters")
    return _TEXTS(call, scope)


def _trim(call: Call, scope: Scope) -> Kind:
    if len(call.args) > 1 and _literal(call.args[1]) is None:
        raise QueryError(f"{call.name} takes the characters to remove as a constant in quotes")
    return _TEXTS(call, scope)


def _ascii(function: Callable[..., Any]) -> Callable[..., Any]:
    """Only where no engine's notion of a letter, a case or a space can differ from Python's."""

    def evaluate(*values: Any) -> Any:
        if not all(value.isascii() and value.isprintable() for value in values if isinstance(value, str)):
            raise ValueError
        return function(*values)

    return evaluate


def _left(value: str, count: float) -> str:
    if count < 0 or count != int(count):
        raise ValueError
    return value[: int(count)]


def _right(value: str, count: float) -> str:
    if count < 0 or count != int(count):
        raise ValueError
    return value[max(len(value) - int(count), 0) :]


def _part(value: str, start: float, length: float = LONGEST_TEXT) -> str:
    if start < 1 or length < 0 or start != int(start) or length != int(length) or len(value) > LONGEST_TEXT:
        raise ValueError
    return value[int(start) - 1 : int(start) - 1 + int(length)]


def _joined(*values: str) -> str:
    if sum(map(len, values)) > LONGEST_TEXT:
        raise ValueError
    return "".join(values)


def _replaced(value: str, searched: str, replacement: str) -> str:
    if not searched or len(value) > LONGEST_TEXT:
        raise ValueError
    return _joined(value.replace(searched, replacement))


def _strip(value: str, characters: str = " ") -> str:
    return value.strip(characters)


def _lstrip(value: str, characters: str = " ") -> str:
    return value.lstrip(characters)


def _rstrip(value: str, characters: str = " ") -> str:
    return value.rstrip(characters)


def _backwards(value: str) -> str:
    return value[::-1]


def _bytes(value: str) -> int:
    return len(value.encode())


def _up_to(most: int) -> Callable[[Call, Scope], Range]:
    """Lengths of a column's texts, as a query reads them; what functions make of texts may be longer."""

    def limits(call: Call, _: Scope) -> Range:
        stored = isinstance(call.args[0].unnest(), exp.Column)
        return Range(Fraction(0), Fraction(most) if stored else math.inf, integer=True)

    return limits


def _anywhere(_: Call, __: Scope) -> Range:
    return Range(Fraction(0), math.inf, integer=True)


def _never(_: Call, __: Scope) -> bool:
    return False


def _test(name: str, does: str, evaluate: Callable[[str, str], bool], *more: str) -> Function:
    return Function(
        (name, *more), f"{name}(s, t)", does, "true or false", "null where s or t is", takes("string", gives="bool"),
        (2, 2), evaluate=evaluate,
    )  # fmt: skip


def _changed(name: str, does: str, evaluate: Callable[[str], str], *more: str) -> Function:
    return Function(
        (name, *more), f"{name}(s)", does, "not a number", "null where s is", _TEXTS, (1, 1), evaluate=_ascii(evaluate)
    )


def _trimmed(name: str, does: str, evaluate: Callable[..., str]) -> Function:
    return Function(
        (name,), f"{name}(s, 'x')", f"{does} spaces, or the characters of a constant", "not a number",
        "null where s is", _trim, (1, 2), evaluate=_ascii(evaluate),
    )  # fmt: skip


def _sided(name: str, does: str, evaluate: Callable[[str, float], str]) -> Function:
    return Function(
        (name,), f"{name}(s, n)", does, "not a number", "null where s or n is, or n is beyond 2^31",
        takes("string", "number", gives="string"), (2, 2), evaluate=_ascii(evaluate), null=_null_slice,
    )  # fmt: skip


def _null_slice(call: Call, scope: Scope) -> bool:
    return any(map(scope.nullable, call.args)) or any(scope.range(n).largest > 2**30 for n in call.args[1:])


TEXTS = (
    _changed("LOWER", "the text in lower case", str.lower, "LCASE"),
    _changed("UPPER", "the text in upper case", str.upper, "UCASE"),
    _changed("REVERSE", "the text backwards", _backwards),
    Function(
        ("LENGTH", "LEN", "CHAR_LENGTH", "CHARACTER_LENGTH"), "LENGTH(s)",
        "how many characters (code points) a text has",
        f"0 to {LONGEST_STORED_TEXT:,} of a column, else 0 up; LEAST(…, n) is narrower", "null where s is",
        takes("string", gives="number"), (1, 1), _up_to(LONGEST_STORED_TEXT), evaluate=len, exact="always",
    ),
    Function(
        ("STRLEN", "OCTET_LENGTH", "BYTE_LENGTH"), "STRLEN(s)", "how many bytes a text has in UTF-8",
        f"0 to {4 * LONGEST_STORED_TEXT:,} of a column, else 0 up; LEAST(…, n) is narrower", "null where s is",
        takes("string", gives="number"), (1, 1), _up_to(4 * LONGEST_STORED_TEXT), evaluate=_bytes, exact="always",
    ),
    _trimmed("TRIM", "the text without leading and trailing", _strip),
    _trimmed("LTRIM", "the text without leading", _lstrip),
    _trimmed("RTRIM", "the text without trailing", _rstrip),
    Function(
        ("SUBSTRING", "SUBSTR"), "SUBSTRING(s, start, length)",
        "a part of a text; the first character is 1, and -1 the last; without length, all that follows",
        "not a number", "null where an argument is, or is beyond 2^31",
        takes("string", "number", gives="string"), (2, 3),
        evaluate=_ascii(_part), null=_null_slice,
    ),
    _sided("LEFT", "the first n characters; a negative n leaves out the last", _left),
    _sided("RIGHT", "the last n characters; a negative n leaves out the first", _right),
    Function(
        ("||",), "s || t", f"two texts together; each, and the result, is cut to {LONGEST_TEXT:,} characters",
        "not a number", "null where s or t is", _TEXTS, (2, 2), evaluate=_joined,
    ),
    Function(
        ("CONCAT",), "CONCAT(s, t, …)",
        f"texts together, without those that are null; each, and the result, is cut to {LONGEST_TEXT:,} characters",
        "not a number", "never null", _TEXTS, (1, 100), null=_never,
    ),
    Function(
        ("REPLACE",), "REPLACE(s, 'x', 'y')",
        f"each x in a text becomes y, both constants; the text and the result are cut to {LONGEST_TEXT:,} characters",
        "not a number", "null where s is", _replace, (3, 3),
        evaluate=_ascii(_replaced),
    ),
    _test("STARTS_WITH", "whether s begins with t", str.startswith, "PREFIX", "STARTSWITH"),
    _test("ENDS_WITH", "whether s ends with t", str.endswith, "SUFFIX", "ENDSWITH"),
    _test("CONTAINS", "whether t is in s", str.__contains__),
    Function(
        ("POSITION", "STRPOS", "INSTR", "CHARINDEX", "LOCATE", "STR_POSITION"), "STRPOS(s, t)",
        "where t first begins in s, from 1; 0 if nowhere",
        "0 up; wrap it in LEAST(…, n) to sum it", "null where s or t is", takes("string", gives="number"), (2, 2),
        _anywhere, exact="always",
    ),
)  # fmt: skip
