"""Random lives of ledgers beside a model of a few lines: lists of exact fractions, in which nothing is ever summed up.

Every decision of an owner, every spend and every turn of the clock goes to both, in each of the four currencies. They
must agree on what is refused, on every total, on what is told of windows and of a lifetime, and on the history.
"""

from __future__ import annotations

import contextlib
import copy
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from discreet.errors import AccountStopped, BudgetExceeded, EventRefused, LedgerError
from discreet.ledger import Reservation, open_ledger
from discreet.ledger.sqlite import _sqlite
from discreet.privacy import ApproxLoss, Loss, MuLoss, PureLoss, RhoLoss, currency, parts

NODES = {"pure": PureLoss, "approx": ApproxLoss, "rho": RhoLoss, "mu": MuLoss}
NAMES = ("", "ada", "bob", "cyd")
REGIONS = ("north", "south")
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
LENGTHS = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}

Numbers = tuple[Fraction, ...]


@dataclass
class Charge:
    account: str
    numbers: Numbers
    part: str | None
    windows: dict[str, int]
    """The number of the window, of the whole and of the account, that it was made in."""


@dataclass
class Budget:
    cap: Numbers
    since: datetime
    every: str | None = None
    until: datetime | None = None
    frozen: bool = False
    part: str | None = None
    window: int = 1

    def turn(self, now: datetime) -> None:
        first = midnight(self.since)
        for day in range((now - first).days if self.every else 0):
            morning = first + timedelta(days=day + 1)
            if begins(self.every, morning):
                self.since, self.window = morning, self.window + 1

    def stopped(self, now: datetime) -> bool:
        return self.frozen or (self.until is not None and now >= self.until)


def midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def begins(every: str, day: datetime) -> bool:
    first = day.day == 1
    return {
        "day": True,
        "week": day.weekday() == 0,
        "month": first,
        "quarter": first and day.month in (1, 4, 7, 10),
        "year": first and day.month == 1,
    }[every]


def begun(every: str, moment: datetime) -> datetime:
    """Where the window of a moment begins, found day by day."""
    day = midnight(moment)
    while not begins(every, day):
        day -= timedelta(days=1)
    return day


def plus(*each: Numbers) -> Numbers:
    return tuple(map(sum, zip(*each, strict=True)))


@dataclass
class Model:
    unit: str
    budgets: dict[str, Budget]
    charges: list[Charge] = field(default_factory=list)

    def total(self, name: str, windows: range, extra: Charge | None = None) -> Numbers:
        """What one person may have lost in these windows of the whole, or of an account: window by window."""
        nothing = (Fraction(0),) * len(self.budgets[""].cap)
        known = [*self.charges, *([extra] if extra else [])]
        lost = nothing
        for window in sorted({c.windows[name] for c in known if c.windows.get(name) in windows}):
            mine = [c for c in known if c.windows.get(name) == window]
            sums = {p: plus(nothing, *(c.numbers for c in mine if c.part == p)) for p in (None, *REGIONS)}
            lost = plus(lost, sums[None], tuple(map(max, *(sums[region] for region in REGIONS))))
        return lost

    def spent(self, name: str, extra: Charge | None = None) -> Numbers:
        window = self.budgets[name].window
        return self.total(name, range(window, window + 1), extra)

    def left(self, name: str) -> Numbers:
        return tuple(max(a - b, Fraction(0)) for a, b in zip(self.budgets[name].cap, self.spent(name), strict=True))

    def reserve(
        self, name: str, numbers: Numbers, part: str | None, time: Callable[[str], datetime]
    ) -> type[Exception] | None:
        """Charge, or say what is raised."""
        drawn_on = {"", name}
        subject = self.budgets[name]
        if any(self.budgets[each].stopped(time(each)) for each in drawn_on):
            return AccountStopped
        if subject.part not in (None, part):
            return EventRefused
        charge = Charge(name, numbers, part, {each: self.budgets[each].window for each in drawn_on})
        for each in drawn_on:
            if any(a > b for a, b in zip(self.spent(each, charge), self.budgets[each].cap, strict=True)):
                return BudgetExceeded
        self.charges.append(charge)
        return None

    def transfer(self, giver: str, taker: str, numbers: Numbers) -> type[Exception] | None:
        if any(a > b for a, b in zip(numbers, self.left(giver), strict=True)):
            return BudgetExceeded
        self.budgets[giver].cap = plus(self.budgets[giver].cap, tuple(-number for number in numbers))
        self.budgets[taker].cap = plus(self.budgets[taker].cap, numbers)
        return None

    def history(self) -> Numbers:
        """What one person may have lost since the beginning: everybody's charges, and the worst part's."""
        nothing = (Fraction(0),) * len(self.budgets[""].cap)
        sums = {p: plus(nothing, *(c.numbers for c in self.charges if c.part == p)) for p in (None, *REGIONS)}
        return plus(sums[None], tuple(map(max, *(sums[region] for region in REGIONS))))


class Life:
    """A ledger and its model, and what happens to both."""

    def __init__(self, unit: str, chance: random.Random, times: list[datetime]) -> None:
        self.unit, self.chance, self.times = unit, chance, times
        self.now = times[-1]
        self.newest: dict[str, datetime] = {}
        """The time of each account's newest entry: an account's time is the clock's, but never before that."""
        whole = Budget(self.numbers(30), self.now, self.period())
        self.model = Model(unit, {"": whole})
        self.ledger = open_ledger(
            None, self.node(whole.cap), every=whole.every, relation="add_remove", parts=REGIONS
        )  # fmt: skip
        self.handles = {"": self.ledger}
        self.keys: list[tuple[str, str, str, Loss, str | None]] = []
        self.number = 0
        self.entries = 1
        for name in NAMES[1:]:
            self.grant(name)

    def numbers(self, most: int) -> Numbers:
        first = Fraction(self.chance.randint(1, most), self.chance.choice([10, 7, 16]))
        rest = Fraction(self.chance.randint(0, most), 10**6) if self.unit != "pure" else None
        return (first,) if rest is None else (first, rest)

    def node(self, numbers: Numbers) -> Loss:
        return NODES[self.unit](*numbers)

    def period(self) -> str | None:
        return self.chance.choice([None, *LENGTHS])

    def turn(self, *names: str) -> None:
        for name in ("", *names):
            self.model.budgets[name].turn(self.time(name))

    def time(self, name: str) -> datetime:
        """Now, as the whole has it, which no entry is dated before the one before; or an account, for its own alone."""
        return max(self.times[-1], self.newest.get(name, self.times[-1])) if name else self.now

    def wrote(self, *names: str) -> None:
        """Each of these accounts has an entry more."""
        self.entries += len(names)
        self.newest |= {name: self.time(name) for name in names if name}

    def check(self, act: Callable[[], object], *names: str, told: Callable[[], type[Exception] | None]) -> bool:
        """Whether something may be done: the ledger raises what the model says, and then no window has begun."""
        before = copy.deepcopy(self.model.budgets)
        self.turn(*names)
        expected = told()
        if expected is None:
            act()
            return True
        with pytest.raises(expected) as caught:
            act()
        assert type(caught.value) is expected
        self.model.budgets = before
        return False

    def grant(self, name: str) -> None:
        old = self.model.budgets.get(name)
        part = old.part if old else self.chance.choice([None, None, "north"])
        until = self.now + timedelta(days=self.chance.randint(-3, 400)) if self.chance.random() < 0.3 else None
        cap, every = self.numbers(20), self.period()
        token = self.ledger.grant(
            name, self.node(cap), every=every, until=until, part=part, token=self.chance.random() < 0.5
        )
        if old is not None and name in self.handles and token is not None:
            with pytest.raises(LedgerError, match="another token"):
                self.handles[name].reserve("stale", self.node(cap))
        self.handles[name] = self.ledger.open_account(name, token)
        if old is None:
            self.model.budgets[name] = Budget(cap, self.time(name), every, until, part=part)
        else:
            self.turn(name)
            if every not in (None, old.every):
                old.since = max(old.since, begun(every, self.time(name)))
            old.cap, old.every, old.until = cap, every, until
        self.wrote(name)

    def spend(self, name: str) -> None:
        part = self.chance.choice([None, None, *REGIONS])
        numbers = self.numbers(6)
        self.number += 1
        key = f"k{self.number}" if self.chance.random() < 0.5 else None
        plan, handle, loss = f"plan{self.number}", self.handles[name], self.node(numbers)
        done: list[Reservation] = []
        if not self.check(
            lambda: done.append(handle.reserve(plan, loss, part=part, idempotency_key=key)),
            name,
            told=lambda: self.model.reserve(name, numbers, part, self.time),
        ):
            return
        self.wrote(name)
        assert done[0].loss == loss
        if self.chance.random() < 0.3:
            self.wait()  # answered in another window than it was charged in, frozen or ended or not
            self.look()
        if self.chance.random() < 0.8:
            handle.commit(done[0], plan.encode())
            self.wrote(name)
            if key is not None:
                self.keys.append((name, key, plan, loss, part))

    def ask_again(self) -> None:
        if not self.keys:
            return
        name, key, plan, loss, part = self.chance.choice(self.keys)
        handle = self.handles[name]
        assert handle.reserve(plan, loss, part=part, idempotency_key=key, fresh=True).payload == plan.encode()
        assert handle.reserve(plan, loss, part=part).payload == plan.encode()
        with pytest.raises(LedgerError, match="another request"):
            handle.reserve(plan + "b", loss, part=part, idempotency_key=key)
        self.number += 1
        assert handle.reserve(plan, loss, part=part, idempotency_key=f"k{self.number}").payload == plan.encode()
        self.keys.append((name, f"k{self.number}", plan, loss, part))
        self.wrote(name)

    def wait(self) -> None:
        step = self.chance.choice([0, 0, 1, 24, 24 * 9, 24 * 40, 24 * 400, -5, -24 * 50])
        self.times.append(self.times[-1] + timedelta(hours=step))

    def look(self) -> None:
        # the time of an entry is the clock's, but never before the entry before it
        self.now = max(self.times[-1], self.ledger.latest(1)[0].at)

    def step(self) -> None:
        self.wait()
        self.look()
        name = self.chance.choice(NAMES)
        match self.chance.choice(["spend"] * 8 + ["again", "grant", "freeze", "thaw", "renew", "transfer", "transfer"]):
            case "spend":
                self.spend(name)
            case "again":
                self.ask_again()
            case "grant":
                self.grant(name or "ada")
            case "freeze" | "thaw" as what:
                self.turn(name)
                getattr(self.ledger, what)(name)
                self.model.budgets[name].frozen = what == "freeze"
                self.wrote(name)
            case "renew":
                self.turn(name)
                budget = self.model.budgets[name]
                cap = self.numbers(20) if self.chance.random() < 0.5 else None
                self.ledger.renew(name, None if cap is None else self.node(cap))
                budget.cap, budget.since, budget.window = cap or budget.cap, self.time(name), budget.window + 1
                self.wrote(name)
            case _:
                giver, taker = self.chance.sample(NAMES[1:], 2)
                numbers = self.numbers(8)
                if self.check(
                    lambda: self.ledger.transfer(giver, taker, self.node(numbers)),
                    giver,
                    taker,
                    told=lambda: self.model.transfer(giver, taker, numbers),
                ):
                    self.wrote(giver, taker)

    def agree(self) -> None:
        newest = self.ledger.latest(1)[0]
        assert newest.seq == self.entries - 1
        self.now = max(self.times[-1], newest.at)
        whole, accounts = self.ledger.total, self.ledger.accounts
        for name, budget in self.model.budgets.items():
            told = whole if name == "" else accounts[name]
            # what is read is told in the window that has begun by the clock, and begins none
            seen = Budget(budget.cap, budget.since, budget.every, window=budget.window)
            seen.turn(self.time(name))
            windows = range(1, seen.window + 1)
            assert parts(told.cap) == budget.cap
            assert parts(told.spent) == self.model.total(name, windows[-1:])
            assert parts(told.lifetime) == self.model.total(name, windows)
            assert parts(told.remaining) == tuple(
                max(a - b, Fraction(0)) for a, b in zip(budget.cap, parts(told.spent), strict=True)
            )
            assert (told.windows, told.since) == (seen.window, seen.since)
            assert (told.frozen, told.every, told.until) == (budget.frozen, budget.every, budget.until)
            assert self.handles[name].state() == told
        history = self.ledger.history
        assert parts(history[self.unit]) == self.model.history()
        assert all(a <= b for a, b in zip(self.model.history(), parts(whole.lifetime), strict=True))
        assert currency(history[self.unit]) == self.unit


@pytest.fixture
def lived(monkeypatch):
    def run(unit: str, number: int, steps: int) -> int:
        times = [NOON]
        monkeypatch.setattr(_sqlite, "clock", lambda connection: times[-1])
        life = Life(unit, random.Random(f"{unit} {number}"), times)
        with contextlib.closing(life.ledger):
            for _ in range(steps):
                life.step()
                life.agree()
            assert life.ledger.verify() == life.entries
            assert sum(life.ledger.kinds().values()) == life.entries
        return life.entries

    return run


@pytest.mark.parametrize("unit", NODES)
def test_a_ledger_and_its_model_agree(unit, lived):
    assert sum(lived(unit, number, 25) for number in range(5)) > 50


@pytest.mark.soak
@pytest.mark.parametrize("unit", NODES)
def test_a_ledger_and_its_model_agree_for_long(unit, lived):
    assert sum(lived(unit, number, 300) for number in range(8, 16)) > 1000
