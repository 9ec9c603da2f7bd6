"""What PostgreSQL's functions say of the objects in a catalogue, by their numbers and names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.server.postgres.catalogue._builtin import BuiltIn, quoter
from discreet.server.postgres.catalogue._rows import Rows

__all__ = ["Lookups"]

_PATH = ("pg_catalog", "public")
"""Where names without a schema are looked for, in this order."""
_ARRAY_PART = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^,{}"]+))\s*(?:,|\Z)')
_NAME_PART = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^\s".]+))\s*(\.|\Z)')
_ENCODINGS = {0: "SQL_ASCII", 6: "UTF8", 8: "LATIN1"}
_PAGE = 8192
_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")
_SYNONYMS = {
    "int": "integer", "int2": "smallint", "int4": "integer", "int8": "bigint", "float4": "real", "bool": "boolean",
    "float8": "double precision", "float": "double precision", "varchar": "character varying", "char": "character",
    "timestamp": "timestamp without time zone", "timestamptz": "timestamp with time zone",
    "time": "time without time zone", "timetz": "time with time zone", "decimal": "numeric", "bpchar": "character",
    "bit": "bit", "varbit": "bit varying", "numeric": "numeric", "interval": "interval", "json": "json",
}  # fmt: skip
_LENGTHS = {"character varying", "character"}
_DIGITS = {f"{each} {zone} time zone": (each, zone) for each in ("time", "timestamp") for zone in ("with", "without")}


class Lookups:
    """The objects of one catalogue. Methods are the functions of PostgreSQL of the same names (manual, chapter 9.27).

    All may be asked for anything, null included, and answer null for what is not there.
    """

    def __init__(self, builtin: Mapping[tuple[str, str], BuiltIn], rows: Rows) -> None:
        def every(name: str, schema: str = "pg_catalog") -> list[Mapping[str, Any]]:
            return [*builtin[schema, name].named(), *rows.get((schema, name), ())]

        self.quote_ident = quoter(builtin)
        self._schemas = {row["oid"]: row["nspname"] for row in every("pg_namespace")}
        self._classes = {row["oid"]: (self._schemas[row["relnamespace"]], row["relname"]) for row in every("pg_class")}
        self._types = {row["oid"]: row for row in every("pg_type")}
        self._functions = {row["oid"]: (self._schemas[row["pronamespace"]], row["proname"]) for row in every("pg_proc")}
        self._others = {
            name: {row["oid"]: (self._schemas[row[column]], row[named]) for row in every(relation)}
            for name, relation, column, named in (
                ("collation", "pg_collation", "collnamespace", "collname"),
                ("conversion", "pg_conversion", "connamespace", "conname"),
                ("opclass", "pg_opclass", "opcnamespace", "opcname"),
                ("operator", "pg_operator", "oprnamespace", "oprname"),
                ("opfamily", "pg_opfamily", "opfnamespace", "opfname"),
                ("ts_config", "pg_ts_config", "cfgnamespace", "cfgname"),
                ("ts_dict", "pg_ts_dict", "dictnamespace", "dictname"),
                ("ts_parser", "pg_ts_parser", "prsnamespace", "prsname"),
                ("ts_template", "pg_ts_template", "tmplnamespace", "tmplname"),
            )
        }
        self._by_name = {place: oid for oid, place in self._classes.items()}
        self._functions_by_name = dict[tuple[str, str], list[int]]()
        for oid, place in self._functions.items():
            self._functions_by_name.setdefault(place, []).append(oid)
        self._type_names = {oid: self._format(oid, row) for oid, row in self._types.items()}
        self._types_by_name = {
            (self._schemas[row["typnamespace"]], row["typname"]): oid for oid, row in self._types.items()
        }
        self._types_by_format = {name: oid for oid, name in self._type_names.items()}
        self._roles = {row["oid"]: row["rolname"] for row in every("pg_roles")}
        self._comments = {
            (row["classoid"], row["objoid"], row["objsubid"]): row["description"] for row in every("pg_description")
        }
        self._definitions = {
            kind: {row["oid"]: row["definition"] for row in every(f"{kind}_texts", "texts")}
            for kind in ("index", "constraint")
        }
        self._signatures = {row["oid"]: row for row in every("function_texts", "texts")}
        self._index_columns = {(row["attrelid"], row["attnum"]): row["attname"] for row in every("pg_attribute")}
        self._settings = {row["name"]: row["shown"] for row in every("settings", "texts")}
        self._readable = {each.oid for each in builtin.values()}

    def _visible(
        self, place: tuple[str, str] | None, names: Mapping[tuple[str, str], Any] | None = None
    ) -> bool | None:
        if place is None:
            return None
        schema, name = place
        if schema not in _PATH:
            return False
        return schema == _PATH[0] or names is None or (_PATH[0], name) not in names

    def pg_table_is_visible(self, oid: int | None) -> bool | None:
        return None if oid is None else self._visible(self._classes.get(oid), self._by_name)

    def pg_type_is_visible(self, oid: int | None) -> bool | None:
        row = None if oid is None else self._types.get(oid)
        place = None if row is None else (self._schemas[row["typnamespace"]], row["typname"])
        return self._visible(place, self._types_by_name)

    def pg_function_is_visible(self, oid: int | None) -> bool | None:
        return None if oid is None else self._visible(self._functions.get(oid))

    def is_visible(self, kind: str, oid: int | None) -> bool | None:
        """What pg_collation_is_visible and its kin say: `kind` is the word in their names."""
        return None if oid is None else self._visible(self._others.get(kind, {}).get(oid))

    def _format(self, oid: int, row: Mapping[str, Any]) -> str:
        """The name of a type as SQL writes it, with its schema where that is needed."""
        if row["typelem"] and row["typcategory"] == "A" and row["typsubscript"]:
            base = self._types.get(row["typelem"])
            if base is not None and base["typarray"] == oid:
                return f"{self._format(row['typelem'], base)}[]"
        schema, name = self._schemas[row["typnamespace"]], row["typname"]
        if schema == "pg_catalog":
            return {"char": '"char"'}.get(name) or _SYNONYMS.get(name) or self.quote_ident(name)
        hidden = schema not in _PATH or any(
            other["typname"] == name and self._schemas[other["typnamespace"]] == "pg_catalog"
            for other in (self._types.values() if schema == "public" else ())
        )
        return f"{self.quote_ident(schema)}.{self.quote_ident(name)}" if hidden else self.quote_ident(name)

    def format_type(self, oid: int | None, modifier: int | None) -> str | None:
        if oid is None:
            return None
        name = self._type_names.get(oid)
        if name is None:
            return "-" if oid == 0 else "???"
        if oid == 1042 and modifier is not None and modifier < 0:
            return "bpchar"  # a type of its own without a length
        if modifier is None or modifier < 0:
            return name
        base, dimensions = name.removesuffix("[]"), "[]" if name.endswith("[]") else ""
        return f"{_modified(base, modifier)}{dimensions}"

    def regtype_out(self, oid: int | None) -> str | None:
        if oid is None:
            return None
        return "-" if oid == 0 else self._type_names.get(oid, str(oid))

    def regtype_in(self, text: str | None) -> int | None:
        return self._number(text, self._type_oid(text), "type")

    def to_regtype(self, text: str | None) -> int | None:
        return self._type_oid(text)

    def _type_oid(self, text: str | None) -> int | None:
        if text is None:
            return None
        plain = re.sub(r"\s+", " ", text.strip())
        base, dimensions = plain.removesuffix("[]").strip(), "[]" if plain.endswith("[]") else ""
        folded = base.lower()
        for name in (_SYNONYMS.get(folded, folded), base):
            oid = self._types_by_format.get(f"{name}{dimensions}")
            if oid is not None:
                return oid
        parts = self._parts(base)
        if parts is None:
            return None
        for schema in _PATH if len(parts) == 1 else parts[-2:-1]:
            oid = self._types_by_name.get((schema, parts[-1]))
            if oid is not None:
                return self._types[oid]["typarray"] or None if dimensions else oid
        return None

    @staticmethod
    def _parts(text: str) -> list[str] | None:
        """The parts of a name with dots, unquoted; None if it is no name."""
        parts, place = list[str](), 0
        while place < len(text) or not parts:
            match = _NAME_PART.match(text, place)
            if match is None:
                return None
            parts.append(match[1].replace('""', '"') if match[1] else match[2].lower())
            place = match.end()
            if not match[3]:
                return parts if len(parts) <= 2 else parts[-2:]
        return None

    def _class_oid(self, text: str | None) -> int | None:
        parts = None if text is None else self._parts(text)
        if parts is None:
            return None
        schemas = _PATH if len(parts) == 1 else parts[:1]
        return next((oid for each in schemas if (oid := self._by_name.get((each, parts[-1]))) is not None), None)

    @staticmethod
    def _number(text: str | None, oid: int | None, kind: str) -> int | None:
        if text is None or oid is not None:
            return oid
        if text.isdecimal() and text.isascii() and len(text) < 11:
            return int(text)
        if text == "-":
            return 0
        raise LookupError(f'{kind} "{text}" does not exist')

    def regclass_in(self, text: str | None) -> int | None:
        return self._number(text, self._class_oid(text), "relation")

    def to_regclass(self, text: str | None) -> int | None:
        return self._class_oid(text)

    def regclass_out(self, oid: int | None) -> str | None:
        if oid is None:
            return None
        place = self._classes.get(oid)
        if place is None:
            return str(oid) if oid else "-"
        names = place[1:] if self.pg_table_is_visible(oid) else place
        return ".".join(map(self.quote_ident, names))

    def regproc_in(self, text: str | None) -> int | None:
        return self._number(text, self.to_regproc(text), "function")

    def to_regproc(self, text: str | None) -> int | None:
        parts = None if text is None else self._parts(text)
        if parts is None:
            return None
        for schema in _PATH if len(parts) == 1 else parts[:1]:
            oids = self._functions_by_name.get((schema, parts[-1]))
            if oids is not None:
                return oids[0] if len(oids) == 1 else None
        return None

    def regproc_out(self, oid: int | None) -> str | None:
        if oid is None:
            return None
        place = self._functions.get(oid)
        if place is None:
            return str(oid) if oid else "-"
        plain = place[0] in _PATH and len(self._functions_by_name[place]) == 1
        return ".".join(map(self.quote_ident, place[1:] if plain else place))

    def regnamespace_in(self, text: str | None) -> int | None:
        parts = None if text is None else self._parts(text)
        oid = next((oid for oid, name in self._schemas.items() if parts and name == parts[-1]), None)
        return self._number(text, oid, "schema")

    def regnamespace_out(self, oid: int | None) -> str | None:
        if oid is None:
            return None
        name = self._schemas.get(oid)
        return self.quote_ident(name) if name is not None else str(oid) if oid else "-"

    def number_out(self, oid: int | None) -> str | None:
        return None if oid is None else str(oid) if oid else "-"

    def pg_get_userbyid(self, oid: int | None) -> str | None:
        return None if oid is None else self._roles.get(oid, f"unknown (OID={oid})")

    def obj_description(self, oid: int | None, catalogue: str | None) -> str | None:
        if oid is None or catalogue is None:
            return None
        number = self._by_name.get(("pg_catalog", catalogue))
        return None if number is None else self._comments.get((number, oid, 0))

    def col_description(self, oid: int | None, column: int | None) -> str | None:
        return self._comments.get((1259, oid, column)) if column else None

    def pg_get_indexdef(self, oid: int | None, column: int | None = 0, pretty: bool | None = None) -> str | None:  # noqa: FBT001
        if oid is None or column is None:
            return None
        if column:
            name = self._index_columns.get((oid, column)) if oid in self._definitions["index"] else None
            return None if name is None else self.quote_ident(name)
        text = self._definitions["index"].get(oid)
        if pretty and text is not None and self.pg_table_is_visible(oid):
            return re.sub(r" ON (?:public|pg_catalog)\.", " ON ", text, count=1)
        return text

    def pg_table_size(self, oid: int | None) -> int | None:
        """The size in bytes: tables are empty, and an empty index has a page."""
        if oid is None or oid not in self._classes:
            return None
        return _PAGE if oid in self._definitions["index"] else 0

    def pg_get_constraintdef(self, oid: int | None, _pretty: bool | None = None) -> str | None:  # noqa: FBT001
        return None if oid is None else self._definitions["constraint"].get(oid)

    def setting(self, name: str | None) -> str | None:
        """A setting as it comes."""
        return None if name is None else self._settings.get(name)

    def signature(self, part: str, oid: int | None) -> str | None:
        """Arguments, identity_arguments or result of a function."""
        row = None if oid is None else self._signatures.get(oid)
        return None if row is None else row[part]

    def readable(self, oid: int | None, privileges: str | None) -> bool | None:
        """Whether one may SELECT from a relation, which is all that one may."""
        if oid is None or privileges is None or oid not in self._classes:
            return None
        schema = self._classes[oid][0]
        if schema in ("pg_catalog", "information_schema") and oid not in self._readable:
            return False
        return _holds(privileges, ("SELECT",))

    @staticmethod
    def holds(privileges: str | None, held: str) -> bool | None:
        """Whether one of the privileges asked for is among those held, both separated by commas."""
        return None if privileges is None else _holds(privileges, held.split(","))

    def quote_literal(self, text: str | None) -> str | None:
        if text is None:
            return None
        quoted = text.replace("'", "''").replace("\\", "\\\\")
        return f" E'{quoted}'" if "\\" in text else f"'{quoted}'"

    def quoted_name(self, text: str | None) -> str | None:
        return None if text is None else self.quote_ident(text)

    @staticmethod
    def pg_encoding_to_char(number: int | None) -> str | None:
        return None if number is None else _ENCODINGS.get(number, "")

    @staticmethod
    def pg_char_to_encoding(name: str | None) -> int | None:
        numbers = {value: key for key, value in _ENCODINGS.items()}
        return None if name is None else numbers.get(name.upper().replace("-", ""), -1)

    @staticmethod
    def pg_size_pretty(size: int | None) -> str | None:
        if size is None:
            return None
        unit = 0
        while abs(size) >= 10 * 1024 and unit < len(_UNITS) - 1:
            size, unit = (size + 512) // 1024, unit + 1
        return f"{size} {_UNITS[unit]}"

    @staticmethod
    def array_out(values: Sequence[str | None] | None) -> str | None:
        """An array as text: ``{a,"b c",NULL}``."""
        if values is None:
            return None
        return "{" + ",".join("NULL" if value is None else _element(value) for value in values) + "}"

    @staticmethod
    def array_to_string(
        values: Sequence[str | None] | None, separator: str | None, null: str | None = None
    ) -> str | None:
        if values is None or separator is None:
            return None
        shown = (null if value is None else value for value in values)
        return separator.join(value for value in shown if value is not None)

    def format(self, pattern: str | None, values: Sequence[str | None] | None) -> str | None:
        """PostgreSQL's `format` with %s, %I and %L, each of the next value."""
        if pattern is None or values is None:
            return None
        left = iter(values)

        def write(match: re.Match[str]) -> str:
            if match[1] == "%":
                return "%"
            value = next(left, None)
            if match[1] == "s":
                return value or ""
            if match[1] == "L":
                return "NULL" if value is None else f"{self.quote_literal(value)}"
            return self.quote_ident(value or "")

        return re.sub(r"%([%sIL])", write, pattern)


def _holds(privileges: str, held: Sequence[str]) -> bool:
    return any(each.strip().upper() in held for each in privileges.split(","))


def _modified(name: str, modifier: int) -> str:
    """A type with its modifier, which is not negative: a length, a precision and a scale, or digits of a second."""
    if name in _LENGTHS and modifier > 4:
        return f"{name}({modifier - 4})"
    if name == "numeric" and modifier >= 4:
        digits = modifier - 4
        return f"numeric({digits >> 16 & 0xFFFF},{(digits & 0x7FF ^ 0x400) - 0x400})"
    if name in ("bit", "bit varying"):
        return f"{name}({modifier})"
    if name in _DIGITS:
        base, zone = _DIGITS[name]
        return f"{base}({modifier}) {zone} time zone"
    return name


def _element(value: str) -> str:
    if value and value.upper() != "NULL" and not re.search(r'[\s"\\{},]', value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
