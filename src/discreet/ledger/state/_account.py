"""The state of one account, the owner's or one under it, and what each event does to it.

Everything here is pure: `check` replays a ledger with the same functions that wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, cast, get_args

from discreet.ledger.state._arithmetic import add, from_numbers, nothing, numbers, within, worst
from discreet.privacy import Loss, currency, left
from discreet.reprs import call_repr

__all__ = [
    "OWNER_ACCOUNT",
    "PERIODS",
    "Account",
    "Period",
    "Role",
    "account_from_json",
    "account_to_json",
    "begun",
    "next_start",
    "start",
]


Period = Literal["day", "week", "month", "quarter", "year"]

PERIODS: tuple[Period, ...] = get_args(Period)


def start(every: Period, at: datetime) -> datetime:
    """The beginning of the window that holds `at`; weeks begin on Monday.

    >>> start("quarter", datetime(2026, 11, 22, 18, tzinfo=UTC)).date()
    datetime.date(2026, 10, 1)
    """
    day = datetime(at.year, at.month, at.day, tzinfo=UTC)
    match every:
        case "day":
            return day
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "year":
            return day.replace(month=1, day=1)


def next_start(every: Period, at: datetime) -> datetime:
    """The beginning of the window after the one that holds `at`; the end of all dates if there is none."""
    longest = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}
    try:
        return start(every, start(every, at) + timedelta(days=longest[every]))
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def begun(every: Period, since: datetime, at: datetime) -> int:
    """How many windows have begun after `since`, up to and with the one that holds `at`, later.

    >>> begun("month", datetime(2026, 11, 22, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))
    2
    """
    return _number(every, at) - _number(every, since)


def _number(every: Period, at: datetime) -> int:
    match every:
        case "day":
            return at.toordinal()
        case "week":
            return (at.toordinal() - 1) // 7
        case "month":
            return 12 * at.year + at.month
        case "quarter":
            return 4 * at.year + (at.month - 1) // 3
        case "year":
            return at.year


Role = Literal["owner", "analyst", "auditor"]

OWNER_ACCOUNT = ""
"""The name of the owner's account: the budget that every other account draws on."""


@dataclass(frozen=True, slots=True)
class Account:
    """A cap and what was spent of it, at one moment.

    Attributes
    ----------
    name
        The account's, or ``""`` for the whole budget, which is the owner's.
    role
        ``"owner"`` of the whole, else ``"analyst"`` or ``"auditor"``, who may read and not spend.
    cap
        What may be spent in one window, or in all if there are no windows.
    common, shares
        What was spent in this window: on everybody, and on each part of the people that charges were made for.
    before
        What was spent in all windows before this one.
    every, since, windows
        How long windows are, None if only `renew` begins a new one; when this one began; how many there were with it,
        also such in which nothing was spent.
    until
        From when on nothing may be spent.
    frozen
        Whether its owner has stopped it.
    part
        The part of the people that the account may ask about, None for all.
    token_sha256
        The hash of the secret that opens it; None if none is asked for.
    scram
        What a PostgreSQL client proves that it has the secret by (RFC 5802), from which the secret cannot be computed;
        None of an account that was granted before there was one, or has no secret.
    relation
        In a ledger of an older format that named none: for which neighbours its totals are settled to be.
    """

    name: str
    role: Role
    cap: Loss
    common: Loss
    before: Loss
    since: datetime
    windows: int = 1
    shares: Mapping[str, Loss] = field(default_factory=dict[str, Loss])
    every: Period | None = None
    until: datetime | None = None
    frozen: bool = False
    part: str | None = None
    token_sha256: str | None = None
    scram: str | None = None
    relation: str | None = None

    def __repr__(self) -> str:
        return call_repr(self, leave_out={"token_sha256", "scram"})

    @property
    def spent(self) -> Loss:
        """What one person may have lost in this window: what concerned all, and the worst of the parts."""
        return add(self.common, worst(*self.shares.values())) if self.shares else self.common

    @property
    def remaining(self) -> Loss:
        """What may still be spent in this window, on everybody."""
        return left(self.cap, self.spent)

    @property
    def lifetime(self) -> Loss:
        """What one person may have lost in all windows together."""
        return add(self.before, self.spent)

    @property
    def ends(self) -> datetime | None:
        """When the next window begins by the calendar."""
        return None if self.every is None else next_start(self.every, self.since)

    def at(self, moment: datetime) -> Account:
        """The account at a later moment: in a new window if one has begun by the calendar, never in an earlier one."""
        if self.every is None:
            return self
        since = start(self.every, moment)
        if since <= self.since:
            return self
        return replace(self.renewed(since), windows=self.windows + begun(self.every, self.since, since))

    def renewed(self, moment: datetime, cap: Loss | None = None) -> Account:
        """A new window, with a new cap if one is given."""
        return replace(
            self, cap=cap or self.cap, common=nothing(currency(self.cap)), shares={}, before=self.lifetime,
            since=moment, windows=self.windows + 1,
        )  # fmt: skip

    def with_windows(self, every: Period | None, moment: datetime) -> Account:
        """With windows of another length: what was spent in this one counts until the next begins, after `moment`."""
        if every is None or every == self.every:
            return replace(self, every=every)
        return replace(self, every=every, since=max(self.since, start(every, moment)))

    def charged(self, loss: Loss, part: str | None) -> Account:
        """After a charge for everybody, or for one part of the people. Does not look at the cap: see `holds`."""
        if part is None:
            return replace(self, common=add(self.common, loss))
        share = self.shares.get(part, nothing(currency(self.cap)))
        return replace(self, shares={**self.shares, part: add(share, loss)})

    @property
    def holds(self) -> bool:
        """Whether what was spent is within the cap."""
        return within(self.spent, self.cap)

    def stopped(self, moment: datetime) -> str | None:
        """Why nothing may be spent at all, in words that depend on the account alone."""
        if self.frozen:
            return "is frozen by the owner of the data; ask them to thaw it"
        if self.until is not None and moment >= self.until:
            return f"has ended on {self.until:%Y-%m-%d %H:%M} UTC; ask the owner of the data for a new one"
        return None


def account_to_json(account: Account, unit: str) -> dict[str, Any]:
    """The account as plain JSON, for `account_from_json`; left out is what is empty, and a currency that is `unit`."""
    own = currency(account.cap)
    fields: dict[str, Any] = {
        "role": account.role,
        "cap": numbers(account.cap),
        "common": numbers(account.common),
        "before": numbers(account.before),
        "since": account.since.isoformat(),
        "windows": account.windows,
    }
    optional = {
        "shares": {name: numbers(loss) for name, loss in account.shares.items()},
        "every": account.every,
        "until": None if account.until is None else account.until.isoformat(),
        "frozen": account.frozen,
        "part": account.part,
        "token_sha256": account.token_sha256,
        "scram": account.scram,
        "relation": account.relation,
        "currency": None if own == unit else own,
    }
    return fields | {name: value for name, value in optional.items() if value}


def account_from_json(name: str, unit: str, data: Mapping[str, Any]) -> Account:
    """The inverse of `account_to_json`; raises `ValueError` and its kin on anything else."""
    unit = data.get("currency", unit)
    role, every = data["role"], data.get("every")
    if role not in get_args(Role) or every not in (None, *PERIODS):
        raise ValueError(name)
    return Account(
        name=name,
        role=cast("Role", role),
        cap=from_numbers(unit, data["cap"]),
        common=from_numbers(unit, data["common"]),
        before=from_numbers(unit, data["before"]),
        since=datetime.fromisoformat(data["since"]),
        windows=int(data["windows"]),
        shares={part: from_numbers(unit, texts) for part, texts in data.get("shares", {}).items()},
        every=every,
        until=datetime.fromisoformat(data["until"]) if "until" in data else None,
        frozen=bool(data.get("frozen", False)),
        part=data.get("part"),
        token_sha256=data.get("token_sha256"),
        scram=data.get("scram"),
        relation=data.get("relation"),
    )
