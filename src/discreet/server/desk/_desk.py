"""The desk: who asks, what may it cost, plan, charge, answer."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

import pyarrow as pa

from discreet.engines import Engine, open_engine
from discreet.errors import DiscreetError, SignInRefused
from discreet.ledger import AccountLedger, Check, LedgerAudit, LoggedCharge, OwnedLedger, Stored, verify_release
from discreet.policy import Policy
from discreet.privacy import Loss, in_words
from discreet.query import Suggest, together
from discreet.release import BaseRelease, Prepared, ReleaseContext, ReleaseFile
from discreet.server.connections import beat_after, check_beat, has_passed
from discreet.server.desk._answer_index import AnswerIndex, IndexedAnswer
from discreet.server.desk._ask import MOST_IN_BASKET, Answered, Ask, Basket, EarlierAnswer, Quote, Source
from discreet.server.desk._audit_log import Act, AuditLog, RefusalLog
from discreet.server.desk._browser_sign_ins import BrowserSignIns
from discreet.server.desk._callers import Caller, OwnerSignIns, caller_of, challenge_secret
from discreet.server.desk._counters import ANSWERS, REFUSALS, SIGN_INS, Counters
from discreet.server.desk._owner_desk import AuditorDesk, OwnerDesk
from discreet.server.desk._planner import Drawn, Planned, Planner, Ready
from discreet.server.desk._recently_used import RecentlyUsed
from discreet.server.desk._refusals import Kind, Refusal, refusal_of
from discreet.server.desk._rehearsal import made_up_tables
from discreet.server.desk._requests import BudgetRequest, Requests
from discreet.server.desk._single_flight import SingleFlight
from discreet.server.desk._state import State
from discreet.session import Session

__all__ = ["Budget", "Desk", "Ticket"]

_ENCODED_BYTES = 1 << 23
_ERRORS_OF = 1_000
_SIGN_INS_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Budget:
    """What an account, or the whole, may spend in its window, has spent and has left."""

    cap: Loss
    spent: Loss
    remaining: Loss


class Ticket:
    """One question that is being answered: whoever asked it may cancel it, from any thread."""

    def __init__(self) -> None:
        self._session: Session | None = None
        self._cancelled = False

    def cancel(self) -> None:
        """Stop the question. What was charged for it stays charged."""
        self._cancelled = True
        if self._session is not None:
            self._session.cancel()

    def taken(self, session: Session) -> None:
        """Note which session answers. Raises `Refusal` if the question was cancelled before it was asked."""
        self._session = session
        if self._cancelled:
            raise Refusal("cancelled", "the question was cancelled before anything was charged")


class Desk:
    """One source under one policy and one ledger, for a team. Safe to share between threads.

    The desk holds the data and the ledger; its fronts hold neither. Everything it refuses is a `Refusal`.

    Parameters
    ----------
    policy, engine, ledger
        The public facts, where the private tables are, and the ledger in its owner's hands.
    state
        The desk's own file; None keeps it in memory.
    shelf
        Whether an answer that one account paid for answers the same question of all.
    beat
        Seconds on whose whole multiples fronts let leave what was paid for. Until then no other call tells of it.
    """

    def __init__(  # noqa: PLR0913
        self,
        policy: Policy,
        engine: Engine,
        ledger: OwnedLedger,
        state: Path | None,
        *,
        shelf: bool = False,
        beat: float | None = None,
    ) -> None:
        check_beat(beat)
        self.policy, self.shelf_is_shared, self.beat = policy, shelf, beat
        self._engine, self._ledger, self._state = engine, ledger, State(state)
        self._flights = SingleFlight(None if state is None else state.with_name(f"{state.name}.lock"))
        self.log, self.owner_sign_ins = AuditLog(self._state), OwnerSignIns(self._state)
        self.browser_sign_ins, self.requests = BrowserSignIns(self._state), Requests(self._state)
        self.counters = Counters(self._state)
        self._signed_in, self._refusals = RecentlyUsed[bool](_SIGN_INS_REMEMBERED), RefusalLog(self.log)
        self.challenge_secret = challenge_secret(self._state)
        self._session = Session(engine, policy, ledger)
        self._planner = Planner(self._session, policy)
        self._index = AnswerIndex(self._state, ledger, ledger.head.ledger)
        self._encoded = RecentlyUsed[bytes](10_000, _ENCODED_BYTES, len)
        self._errors = RecentlyUsed[Mapping[str, float]](_ERRORS_OF)
        self._rehearsing = threading.Lock()
        self._rehearsal: Engine | None = None

    @property
    def public_key(self) -> str | None:
        """The key that the ledger signs certificates with, as hexadecimal digits."""
        return self._ledger.facts.public_key

    # who

    def sign_in(self, account: str, token: str | None, *, with_each_request: bool = False) -> Caller:
        """The caller with an account and its token. Raises `Refusal` ("sign-in") for whatever is not both.

        A token that comes `with_each_request` is a sign-in once.
        """
        with self._refusing("sign-in", account):
            caller = caller_of(self._ledger, account, token)
            self._note_sign_in(account, "token", token if with_each_request else None)
        return caller

    def verifier(self, account: str) -> str | None:
        """What the account's holder proves by SCRAM to have the token of; None where there is no such account."""
        with self._refusing("sign-in", ""):
            held = self._ledger.account_named(account)
        return None if held is None else held.scram

    def admit(self, account: str, by: str, credential: str | None = None) -> Caller:
        """The caller of an account whom a front has checked by itself: by SCRAM, or by OpenID Connect.

        A `credential` that is shown with each request, as a bearer token, is a sign-in once.
        """
        with self._refusing("sign-in", account):
            held = self._ledger.account_named(account)
            if held is None or _is_revoked(held):
                raise Refusal("sign-in", "there is no such account here: ask the owner of the data for one")
            if held.role == "auditor":
                caller = Caller(account, "auditor", self._ledger.audit(), held.token_sha256)
            else:
                caller = Caller(account, "analyst", self._ledger.admit(account), held.token_sha256)
            self._note_sign_in(account, by, credential)
        return caller

    def admit_owner(self, token: str) -> Caller:
        """The owner, by a token that a code was exchanged for. Raises `Refusal` ("sign-in")."""
        with self._refusing("sign-in", ""):
            if not self.owner_sign_ins.is_owner(token):
                raise Refusal("sign-in", "this is no token of the owner's, or it has ended: sign in by a new code")
            self._note_sign_in("", "owner", token)
        return Caller("", "owner", self._ledger)

    def check(self, caller: Caller) -> None:
        """Raise `Refusal` ("sign-in") if the account is gone, or has had another token since it signed in."""
        with self._asked(caller):
            pass

    def refuse(self, account: str, asked: Act, kind: Kind, reason: str | None = None) -> None:
        """Log and count what a front has refused by itself. `reason` is one of few words of the front's."""
        self.counters.add(REFUSALS, kind)
        more = {} if reason is None else {"reason": reason}
        if asked == "sign-in":
            self.counters.add(SIGN_INS, "refused")
            account = self._name_in_log(account)
        self._refusals.append(account, asked, kind=kind, **more)

    def _note_sign_in(self, account: str, by: str, credential: str | None) -> None:
        """Log and count a sign-in; one whose credential comes with each request is noted once by each process."""
        key = None if credential is None else (account, by, hashlib.sha256(credential.encode()).digest())
        if key is not None and self._signed_in.peek(key):
            return
        self.log.append("sign-in", account, by=by)
        self.counters.add(SIGN_INS, "admitted")
        if key is not None:
            self._signed_in.get(key, lambda: True)

    def _name_in_log(self, account: str) -> str:
        """The name of an account that there is: another may be anything that was sent, even a token."""
        try:
            return "" if self._ledger.account_named(account) is None else account
        except DiscreetError:
            return ""

    # what it would cost

    def quote(self, caller: Caller, ask: Ask, *, earlier: bool = True) -> Quote:
        """What a question would cost and answer, and which answers to it exist. Costs nothing.

        Without `earlier`, the other answers are not looked up. Raises `Refusal` for what is not supported.
        """
        with self._asked(caller, "plan"):
            planned = self._planner.plan(ask)
            quote = self._quoted(caller, planned, earlier=earlier)
            self.log.append("plan", caller.account, plan=quote.id)
        return quote

    def _quoted(self, caller: Caller, planned: Planned, *, earlier: bool) -> Quote:
        prepared = planned.prepared
        stored = None if prepared is None else self._stored(caller.spending, prepared)
        return Quote(
            ask=planned.ask,
            plan=planned.plan,
            id=None if prepared is None else prepared.hash,
            columns=planned.columns,
            loss=planned.plan.loss,
            price=planned.price if stored is None or stored.is_held else None,
            answers=tuple(map(self._earlier(caller), self._indexed(caller, planned))) if earlier else (),
        )

    def columns_alone(self, caller: Caller, ask: Ask) -> pa.Schema:
        """The names and types of a query's columns, though it may ask for rows about people. Reads the policy alone.

        Raises `Refusal` for what is no query over the policy's tables.
        """
        with self._asked(caller, "plan"):
            return self._planner.columns_alone(ask)

    # answering

    def answer(  # noqa: PLR0913
        self,
        caller: Caller,
        ask: Ask,
        max_price: Loss | None = None,
        *,
        key: str | None = None,
        ticket: Ticket | None = None,
        probing: bool = False,
    ) -> Answered:
        """Answer a question: from what the account has or the shelf holds, for free, or else for its price.

        Nothing is charged beyond `max_price`, and without one nothing at all. A request with an idempotency `key` may
        be sent again: it is paid once. Raises `Refusal`: of kind "price" where the answer costs more than that; with
        `probing` whoever asks goes on to pay it or refuses themselves, and that refusal is in no log.
        """
        with self._asked(caller, probing=probing):
            planned = self._planner.plan(ask)
            if planned.prepared is None:
                return self._counted(self._existing(caller, planned))
            ticket = ticket or Ticket()
            return self._counted(self._answered(caller, planned.prepared, planned.price, max_price, key, ticket))

    def quote_all(self, caller: Caller, asks: Sequence[Ask]) -> Basket:
        """One plan of several questions: what each would cost, and all of them, each once. Costs nothing."""
        with self._asked(caller, "plan"):
            basket = self._basket(caller, asks)
            self.log.append("plan", caller.account, questions=len(asks))
        return basket

    def answer_all(
        self,
        caller: Caller,
        asks: Sequence[Ask],
        max_price: Loss | None = None,
        *,
        key: str | None = None,
        ticket: Ticket | None = None,
    ) -> list[Answered]:
        """Answer several questions for at most one price; nothing is charged unless all are supported and affordable.

        They are charged one by one, and each can be had again by itself for free. If one fails nevertheless, those
        before it stay paid, and asking for all again, by the same `key`, pays for the rest alone.
        """
        with self._asked(caller):
            basket = self._basket(caller, asks)
            for ask, quote in zip(asks, basket.quotes, strict=True):
                if quote.id is None and not self._indexed(caller, self._planner.plan(ask)):
                    raise _no_answer_yet()
            if basket.price is not None:
                _check_price(basket.price, max_price)
                remaining = caller.spending.remaining
                if not basket.price.fits(remaining):
                    words = f"these answers cost {in_words(basket.price)}, and {in_words(remaining)} is left"
                    raise Refusal("budget", f"{words}; nothing was spent: ask fewer, or at less", price=basket.price)
                if not basket.price.fits(self._ledger.remaining):
                    words = (
                        f"these answers cost {in_words(basket.price)}, more than is left of the budget that all share"
                    )
                    raise Refusal("budget", f"{words}; nothing was spent: ask fewer, or at less", price=basket.price)
        ticket = ticket or Ticket()
        return [
            self.answer(caller, ask, quote.price, key=None if key is None else f"{key}/{place}", ticket=ticket)
            for place, (ask, quote) in enumerate(zip(asks, basket.quotes, strict=True))
        ]

    def _basket(self, caller: Caller, asks: Sequence[Ask]) -> Basket:
        if not 0 < len(asks) <= MOST_IN_BASKET:
            raise Refusal("parameter", f"a basket has from 1 to {MOST_IN_BASKET} questions, and this one {len(asks)}")
        quotes = tuple(self._quoted(caller, self._planner.plan(ask), earlier=False) for ask in asks)
        prices = {quote.id: quote.price for quote in quotes if quote.price is not None}
        return Basket(quotes, together(list(prices.values())))

    def suggest(  # noqa: PLR0913
        self,
        caller: Caller,
        question: Suggest,
        max_price: Loss | None = None,
        *,
        key: str | None = None,
        ticket: Ticket | None = None,
        probing: bool = False,
    ) -> Answered:
        """Buy what a policy lacks about a column, as `Session.suggest` does; else as `answer`."""
        with self._asked(caller, probing=probing):
            prepared = cast("Prepared[BaseRelease]", self._session.prepare(question))
            return self._counted(self._answered(caller, prepared, prepared.loss, max_price, key, ticket or Ticket()))

    def answer_by_id(self, caller: Caller, plan_hash: str) -> Answered:
        """An answer that the account has, or that the shelf holds. Raises `Refusal` ("unknown") if there is none."""
        with self._asked(caller):
            return self._counted(self._named(caller, plan_hash))

    def _named(self, caller: Caller, plan_hash: str) -> Answered:
        there = self._find(caller.spending, plan_hash)
        if there is None:
            raise Refusal("unknown", "this account has no answer of this name: ask the question itself")
        stored, source = there
        return Answered.restored(plan_hash, stored.payload, source, is_held=self._is_held(stored))

    def is_answering(self, caller: Caller, plan_hash: str) -> bool:
        """Whether a question of this account is being answered now, by whichever process of the server."""
        return self._flights.is_taken(self._flight(caller, plan_hash))

    def _flight(self, caller: Caller, plan_hash: str) -> str:
        return plan_hash if self.shelf_is_shared else f"{caller.account} {plan_hash}"

    def rehearse(self, caller: Caller, ask: Ask) -> Answered:
        """The answer to a question on made-up rows drawn from the policy alone; free, unsigned, and marked as such."""
        with self._asked(caller):
            planned = self._planner.plan(ask)
            if planned.prepared is None:
                raise Refusal("parameter", "a rehearsal needs a spend, which says how much noise there is; it is free")
            context = ReleaseContext.of_engine(self._rehearsal_engine(), self.policy, _certify_rehearsal)
            release = planned.prepared.answer(context)
            answered = Answered(planned.prepared.hash, release.to_bytes(), "rehearsal", None, lambda _: release)
            return self._counted(answered)

    def _counted(self, answered: Answered) -> Answered:
        self.counters.add(ANSWERS, answered.source)
        return answered

    def encode(self, answered: Answered, form: str, make: Callable[[Answered], bytes]) -> bytes:
        """An answer as a front writes it in some form, made once while it is asked for often."""
        if answered.source == "rehearsal":
            return make(answered)
        return self._encoded.get((answered.digest, form), lambda: make(answered))

    # what there is

    def budget(self, caller: Caller) -> Budget:
        """What the account has, or for the owner and auditors the whole."""
        with self._asked(caller):
            state = caller.ledger.state() if isinstance(caller.ledger, AccountLedger) else caller.audit.total
            return Budget(state.cap, state.spent, state.remaining)

    def history(self, caller: Caller, count: int = 100) -> list[LoggedCharge]:
        """The newest charges with their questions: of the account, or for the owner and auditors of all."""
        with self._asked(caller):
            charges = caller.ledger.log(count)
            return charges if caller.role == "owner" else list(map(self._until_left, charges))

    def verify(self, caller: Caller, file: ReleaseFile) -> list[Check]:
        """All checks of a release that somebody has: its signature by this ledger, its digests and its loss.

        For auditors and the owner its charge is looked up as well. Costs nothing.
        """
        with self._asked(caller):
            ledger = caller.ledger if isinstance(caller.ledger, LedgerAudit) else None
            return list(verify_release(file, self.public_key, ledger))

    def shelf(self, caller: Caller, count: int = 100) -> list[LoggedCharge]:
        """The newest charges of all accounts whose answers are free for all. Raises `Refusal` where none are shared."""
        with self._asked(caller):
            if not self.shelf_is_shared:
                raise Refusal("role", "answers are not shared here: the owner has left the shelf off")
            return [each for each in map(self._until_left, self._ledger.log(count)) if each.answered]

    def request(self, caller: Caller, loss: Loss, reason: str) -> BudgetRequest:
        """Ask the owner for more budget."""
        with self._asked(caller, "request"):
            _ = caller.spending
            request = self.requests.add(caller.account, loss, reason)
            self.log.append("request", caller.account, request=request.number)
        return request

    def budget_requests(self, caller: Caller) -> Sequence[BudgetRequest]:
        """The newest requests: the account's own, or for the owner and auditors all."""
        with self._asked(caller):
            return self.requests.newest(caller.account if caller.role == "analyst" else None)

    @contextmanager
    def deciding(self, caller: Caller) -> Generator[OwnerDesk]:
        """What the owner may decide. Raises `Refusal` ("role") for anybody else."""
        with self._asked(caller):
            yield OwnerDesk(caller.owned, self.log, self.requests, self._flights)

    @contextmanager
    def auditing(self, caller: Caller) -> Generator[AuditorDesk]:
        """What auditors and the owner may read. Raises `Refusal` ("role") for an analyst."""
        with self._asked(caller):
            yield AuditorDesk(caller.audit, self.log)

    def owner(self) -> OwnerDesk:
        """The owner's decisions, for whoever has opened the desk."""
        return OwnerDesk(self._ledger, self.log, self.requests, self._flights)

    def close(self) -> None:
        """Cancel what is being answered, and close the source, the ledger and the desk's file."""
        self._session.close()
        if self._rehearsal is not None:
            self._rehearsal.close()
        self._flights.close()
        with suppress(Refusal):
            self.counters.flush()
        self._state.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _answered(  # noqa: PLR0913, PLR0917
        self,
        caller: Caller,
        prepared: Prepared[Any],
        price: Loss | None,
        max_price: Loss | None,
        key: str | None,
        ticket: Ticket,
    ) -> Answered:
        if max_price is None and price is not None:
            stored = None if prepared.fresh else self._stored(caller.spending, prepared)
            if stored is not None:
                return stored
            _check_price(price, None)
        with self._flights.only(self._flight(caller, prepared.hash)):
            if not prepared.fresh and (stored := self._stored(caller.spending, prepared)) is not None:
                return stored
            if price is not None:
                _check_price(price, max_price)
            session = Session(self._engine, self.policy, caller.spending)
            ticket.taken(session)
            drawn: Drawn = cast("Any", session).answer(Ready(prepared), idempotency_key=key)
        is_held = self.beat is not None and price is not None
        if drawn.release is None:
            return Answered(prepared.hash, drawn.payload, "repeat", None, prepared.read, is_held=is_held)
        release, source = drawn.release, "public" if price is None else "paid"
        return Answered(prepared.hash, drawn.payload, source, price, lambda _: release, is_held=is_held)

    def _stored(self, ledger: AccountLedger, prepared: Prepared[Any]) -> Answered | None:
        """The stored answer to a prepared question that this account may have for free, or None."""
        there = self._find(ledger, prepared.hash)
        if there is None:
            return None
        stored, source = there
        is_held = self._is_held(stored)
        return Answered(prepared.hash, stored.payload, source, None, prepared.read, is_held=is_held)

    def _find(self, ledger: AccountLedger, plan_hash: str) -> tuple[Stored, Source] | None:
        """The stored answer of a plan: the account's own, or else what the shelf holds."""
        own = ledger.find(plan_hash)
        if own is not None:
            return own, "repeat"
        shared = self._ledger.find_of_any(plan_hash) if self.shelf_is_shared else None
        return None if shared is None else (shared, "shelf")

    def _is_held(self, stored: Stored) -> bool:
        """Whether an answer was stored since the last beat: nobody is told before the next that it is there."""
        return not has_passed(self.beat, stored.at)

    def _until_left(self, charge: LoggedCharge) -> LoggedCharge:
        """A charge as it may be told of: with its answer once that has left."""
        if charge.answered_at is None or has_passed(self.beat, charge.answered_at):
            return charge
        return LoggedCharge(charge.charge, answered=False)

    def _existing(self, caller: Caller, planned: Planned) -> Answered:
        """The most precise answer to a question there is. Raises `Refusal` ("price") if there is none."""
        for each in self._indexed(caller, planned):
            return self._named(caller, each.plan)
        raise _no_answer_yet()

    def _indexed(self, caller: Caller, planned: Planned) -> Sequence[IndexedAnswer]:
        return self._index.largest(
            planned.question,
            caller.account,
            shared=self.shelf_is_shared,
            has_left=lambda at: has_passed(self.beat, at),
        )

    def _earlier(self, caller: Caller) -> Callable[[IndexedAnswer], EarlierAnswer]:
        def earlier(each: IndexedAnswer) -> EarlierAnswer:
            errors = self._errors.get((each.plan, each.account), lambda: self._named(caller, each.plan).largest_errors)
            left = beat_after(self.beat, each.at)
            return EarlierAnswer(each.plan, each.loss, left, errors, shared=each.account != caller.account)

        return earlier

    def _rehearsal_engine(self) -> Engine:
        with self._rehearsing:
            if self._rehearsal is None:
                self._rehearsal = open_engine(made_up_tables(self.policy), self.policy)
            return self._rehearsal

    @contextmanager
    def _asked(self, caller: Caller, act: Act = "refusal", *, probing: bool = False) -> Generator[None]:
        """As `_refusing`, for a caller whose account still has the token that it signed in with."""
        with self._refusing(act, caller.account, probing=probing):
            if caller.role != "owner":
                held = self._ledger.account_now(caller.account)
                if held is None or held.token_sha256 != caller.token_sha256:
                    raise SignInRefused(f"the account {caller.account!r} has had another token since it signed in")
            yield

    @contextmanager
    def _refusing(self, act: Act, account: str, *, probing: bool = False) -> Generator[None]:
        """Raise a `Refusal` for every error of discreet in the block, and log its kind."""
        try:
            yield
        except DiscreetError as error:
            refusal = refusal_of(error)
            if not refusal.logged and not (probing and refusal.kind == "price"):
                self.refuse(account, act, refusal.kind)
                refusal.logged = True
            raise refusal from (None if refusal is error else error)


def _is_revoked(account: Any) -> bool:
    """Whether no token may open an account, so that no other sign-in may either; see `OwnedLedger.revoke`.

    A frozen account that was granted before there were SCRAM verifiers looks the same, and waits for `thaw`.
    """
    return account.frozen and account.token_sha256 is not None and account.scram is None


def _no_answer_yet() -> Refusal:
    return Refusal(
        "price",
        "no answer to this question exists yet, and none may be bought without a spend: say what it may cost",
    )


def _check_price(price: Loss, max_price: Loss | None) -> None:
    if max_price is None:
        raise Refusal(
            "price",
            f"this answer costs {in_words(price)}, and only free ones were asked for: say what it may cost, as "
            "max_price, or ask at a spend at which it was answered before",
            price=price,
        )
    if price != max_price and not price.fits(max_price):
        raise Refusal(
            "price", f"this answer costs {in_words(price)}, more than the {in_words(max_price)} it may", price=price
        )


def _certify_rehearsal(statement: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **statement,
        "rehearsal": "answered on made-up rows drawn from the policy alone; it says nothing of the data",
    }
