"""The settings of a session: what a question may cost and how it is answered, and those that drivers set.

Source: PostgreSQL manual, chapter "Server Configuration", and reference pages "SET", "SHOW" and "RESET".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from discreet.errors import ParameterError
from discreet.privacy import Loss, approx, from_text, mu, pure, rho
from discreet.server.postgres._refusals import SqlError

__all__ = ["REPORTED", "SERVER_VERSION", "Settings"]

SERVER_VERSION: Final = "18.4"
"""The version whose protocol and catalogue this is."""
_CURRENCIES: Final = {"discreet.epsilon", "discreet.rho", "discreet.mu"}
_MAX_VALUE = 1_000
_ON, _OFF = ("on", "true", "yes", "1", "t", "y"), ("off", "false", "no", "0", "f", "n")
_DURATION = re.compile(r"(\d{1,12})\s*(us|ms|s|min|h|d)?")
_UNITS: Final = {"us": 0.001, "ms": 1.0, "s": 1e3, "min": 6e4, "h": 3.6e6, "d": 8.64e7}


def _number(text: str) -> str:
    if text:
        _loss(pure, text)
    return text


def _delta(text: str) -> str:
    if text:
        _loss(lambda delta: approx("0.1", delta), text)
    return text


def _price(text: str) -> str:
    if "(" in text:
        _loss(from_text, text)
        return text
    return _number(text)


def _level(text: str) -> str:
    try:
        if 0 < float(text) < 1:
            return text
    except ValueError:
        pass
    raise SqlError("22023", "discreet.level lies between 0 and 1, as 0.95 does")


def _flag(text: str) -> str:
    if text.lower() in _ON:
        return "on"
    if text.lower() in _OFF:
        return "off"
    raise SqlError("22023", "a truth value is on or off")


def _only(*allowed: str, shown: str | None = None) -> Callable[[str], str]:
    """A setting that has one value here, however it is written."""

    def check(text: str) -> str:
        if re.sub(r"[^a-z0-9/]", "", text.lower()) not in allowed:
            raise SqlError("22023", f"this setting is {shown or allowed[0]} here, and nothing else")
        return shown or allowed[0]

    return check


def _iso(text: str) -> str:
    if not text.lower().startswith("iso"):
        raise SqlError("22023", "dates are written in ISO style here")
    return "ISO, MDY"


def _milliseconds(text: str) -> str:
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise SqlError("22023", "a duration is a number of milliseconds, or one with a unit, as 30s")
    return str(round(int(match[1]) * _UNITS[match[2] or "ms"]))


def _any(text: str) -> str:
    return text


def _one_of(*allowed: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if text.lower() not in allowed:
            raise SqlError("22023", f"this setting is one of {', '.join(allowed)}")
        return text.lower()

    return check


_OURS: Final[Mapping[str, tuple[str, Callable[[str], str]]]] = {
    "discreet.epsilon": ("", _number),
    "discreet.delta": ("", _delta),
    "discreet.rho": ("", _number),
    "discreet.mu": ("", _number),
    "discreet.max_price": ("", _price),
    "discreet.level": ("0.95", _level),
    "discreet.errors": ("off", _flag),
    "discreet.rehearse": ("off", _flag),
    "discreet.bias": ("off", _flag),
}
_ISOLATION = _one_of("serializable", "repeatable read", "read committed", "read uncommitted")
_THEIRS: Final[Mapping[str, tuple[str, Callable[[str], str]]]] = {
    "application_name": ("", lambda text: text[:63]),
    "bytea_output": ("hex", _only("hex")),
    "client_encoding": ("UTF8", _only("utf8", "unicode", shown="UTF8")),
    "client_min_messages": (
        "notice",
        _one_of("debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"),
    ),
    "DateStyle": ("ISO, MDY", _iso),
    "default_transaction_isolation": ("read committed", _ISOLATION),
    "default_transaction_read_only": ("on", _flag),
    "extra_float_digits": ("1", _one_of(*map(str, range(-15, 4)))),
    "idle_in_transaction_session_timeout": ("0", _milliseconds),
    "IntervalStyle": ("postgres", _only("postgres")),
    "lock_timeout": ("0", _milliseconds),
    "search_path": ('"$user", public', _any),
    "standard_conforming_strings": ("on", _only(*_ON, shown="on")),
    "statement_timeout": ("0", _milliseconds),
    "TimeZone": ("UTC", _only("utc", "gmt", "etc/utc", "z", "0", "default", "utc0", shown="UTC")),
    "transaction_isolation": ("read committed", _ISOLATION),
    "transaction_read_only": ("on", _flag),
    **{
        name: (value, _any)
        for name, value in {
            "enable_bitmapscan": "on", "enable_hashjoin": "on", "enable_indexscan": "on", "enable_mergejoin": "on",
            "enable_nestloop": "on", "enable_seqscan": "on", "enable_sort": "on", "geqo": "on", "jit": "off",
            "max_parallel_workers_per_gather": "0", "plan_cache_mode": "auto", "row_security": "on",
            "synchronize_seqscans": "on", "work_mem": "4MB",
        }.items()
    },
}  # fmt: skip
"""What drivers set; all but statement_timeout, client_min_messages and application_name change nothing."""
_FIXED: Final = {
    "in_hot_standby": "off",
    "integer_datetimes": "on",
    "is_superuser": "off",
    "lc_collate": "C",
    "lc_ctype": "C",
    "lc_messages": "C",
    "max_identifier_length": "63",
    "server_encoding": "UTF8",
    "server_version": SERVER_VERSION,
    "server_version_num": "{:d}{:04d}".format(*map(int, SERVER_VERSION.split("."))),
    "session_authorization": "",
}
REPORTED: Final = (
    "server_version", "server_encoding", "client_encoding", "application_name", "is_superuser", "session_authorization",
    "DateStyle", "IntervalStyle", "TimeZone", "integer_datetimes", "standard_conforming_strings",
    "default_transaction_read_only", "in_hot_standby", "search_path",
)  # fmt: skip
"""Settings whose values a client is sent when it signs in and when they change."""
_KNOWN: Final = {**_OURS, **_THEIRS}
_NAMES: Final = {name.lower(): name for name in (*_KNOWN, *_FIXED)}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one session, those of its transaction alone, and what RESET goes back to."""

    account: str = ""
    session: Mapping[str, str] = field(default_factory=dict[str, str])
    local: Mapping[str, str] = field(default_factory=dict[str, str])
    start: Mapping[str, str] = field(default_factory=dict[str, str])

    def get(self, name: str) -> str:
        """The value of a setting. Raises `SqlError` (42704) for one that there is not."""
        exact = _exact(name)
        if exact == "session_authorization":
            return self.account
        if exact in _FIXED:
            return _FIXED[exact]
        for values in (self.local, self.session, self.start):
            if exact in values:
                return values[exact]
        return _KNOWN[exact][0]

    def set(self, name: str, value: str | None, *, local: bool = False) -> Settings:
        """The settings with one changed, for the session or its transaction; None is its value at the start.

        Of epsilon, rho and mu the last one set counts. Raises `SqlError`: 42704 for a setting that there is not, 55P02
        for one that cannot be changed, 22023 for a value that is not allowed.
        """
        exact = _exact(name)
        if exact in _FIXED:
            raise SqlError("55P02", f'parameter "{exact}" cannot be changed')
        if value is None:
            value = self.start.get(exact, _KNOWN[exact][0])
        if len(value) > _MAX_VALUE or "\0" in value:
            raise SqlError("22023", f"a setting has at most {_MAX_VALUE:,} characters")
        changed = {exact: _KNOWN[exact][1](value)}
        if exact in _CURRENCIES and value:
            changed |= dict.fromkeys(_CURRENCIES - {exact}, "")
        if local:
            return replace(self, local={**self.local, **changed})
        rest = {key: each for key, each in self.local.items() if key not in changed}
        return replace(self, session={**self.session, **changed}, local=rest)

    def started(self) -> Settings:
        """The settings as they are now, as those that RESET goes back to."""
        return replace(self, session={}, local={}, start={**self.start, **self.session})

    def reset(self) -> Settings:
        """RESET ALL."""
        return replace(self, session={}, local={})

    def ended(self) -> Settings:
        """Without those of the transaction."""
        return replace(self, local={})

    def all(self) -> list[tuple[str, str]]:
        """Every setting and its value, as SHOW ALL lists them."""
        return [(name, self.get(name)) for name in sorted(_NAMES.values(), key=str.lower)]

    @property
    def changed(self) -> Mapping[str, str]:
        """The settings that are not as they come."""
        return {**self.start, **self.session, **self.local}

    @property
    def spend(self) -> Loss | None:
        """What answers are bought for; None where no spend is set."""
        delta = self.get("discreet.delta")
        if rate := self.get("discreet.rho"):
            return _loss(lambda x: rho(x, delta or 0), rate)
        if slope := self.get("discreet.mu"):
            return _loss(lambda x: mu(x, delta or 0), slope)
        epsilon = self.get("discreet.epsilon")
        if not epsilon:
            return None
        return _loss(lambda x: approx(x, delta) if delta else pure(x), epsilon)

    @property
    def max_price(self) -> Loss | None:
        """What one answer may cost: `discreet.max_price`, or else the spend, which was set in order to be spent.

        A bare number is in the currency of the spend, with its delta.
        """
        price = self.get("discreet.max_price")
        if not price:
            return self.spend
        if "(" in price:
            return _loss(from_text, price)
        name = next((each for each in _CURRENCIES if self.get(each)), "discreet.epsilon")
        return replace(self, session={**self.session, name: price}, local={**self.local, name: price}).spend

    @property
    def level(self) -> float:
        """The probability that error bars hold with."""
        return float(self.get("discreet.level"))

    @property
    def timeout(self) -> float | None:
        """Seconds after which a statement is cancelled; None for never."""
        return int(self.get("statement_timeout")) / 1e3 or None

    def is_on(self, name: str) -> bool:
        """Whether a truth value of ours is on."""
        return self.get(f"discreet.{name}") == "on"

    def shows(self, severity: str) -> bool:
        """Whether a client wants notices of a severity."""
        least = self.get("client_min_messages")
        return least not in (("error",) if severity == "WARNING" else ("error", "warning"))


def _exact(name: str) -> str:
    exact = _NAMES.get(name.lower())
    if exact is None:
        hint = "Settings of ours: " + ", ".join(_OURS) if name.lower().startswith("discreet.") else None
        raise SqlError("42704", f'unrecognized configuration parameter "{name[:100]}"', hint)
    return exact


def _loss(make: Callable[[str], Loss], text: str) -> Loss:
    try:
        return make(text)
    except ParameterError as error:
        raise SqlError("22023", str(error)) from None
