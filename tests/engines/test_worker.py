"""Work in a thread of its own: what stops it, what does not, and that nothing is left over for the next."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from discreet.engines._worker import Worker
from discreet.errors import Cancelled
from discreet.release import Questions, check_cancelled

SOON = 20.0
"""Seconds for what takes a moment: less than the minute that work would take if nothing stopped it."""


class Machine:
    """An engine that works until it is interrupted. Like a real one, it does not hear of an interrupt while idle."""

    def __init__(self) -> None:
        self.working = threading.Event()
        self.interrupts = 0
        self._stop = threading.Event()
        self.worker = Worker(self.interrupt)

    def interrupt(self) -> None:
        self.interrupts += 1
        self._stop.set()

    def work(self, seconds: float = 60) -> str:
        self._stop.clear()
        self.working.set()
        try:
            if self._stop.wait(seconds):
                raise RuntimeError("interrupted")
        finally:
            self.working.clear()
        return "done"


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def soon() -> Iterator[Callable[[threading.Event, Callable[[], object]], None]]:
    """Does something in another thread once an event is set."""
    threads: list[threading.Thread] = []

    def start(when: threading.Event, act: Callable[[], object]) -> None:
        threads.append(threading.Thread(target=lambda: when.wait(60) and act()))
        threads[-1].start()

    yield start
    for thread in threads:
        thread.join()


Soon = Callable[[threading.Event, Callable[[], object]], None]


def test_work_returns_and_raises_what_it_does(machine: Machine) -> None:
    assert machine.worker.run(lambda: machine.work(0)) == "done"
    with pytest.raises(ZeroDivisionError) as caught:
        machine.worker.run(lambda: 1 // 0)
    assert caught.value.__context__ is None
    assert machine.interrupts == 0


def test_a_cancelled_question_is_cancelled_whatever_its_work_makes_of_it(machine: Machine, soon: Soon) -> None:
    """A failure is the interrupt's, and an answer comes too late."""
    questions = Questions()

    def stubborn() -> str:
        try:
            return machine.work()
        except RuntimeError:
            return "an answer all the same"

    for work in (machine.work, stubborn):
        soon(machine.working, questions.cancel)
        with pytest.raises(Cancelled), questions.asked():
            machine.worker.run(work)
    assert machine.worker.run(lambda: machine.work(0)) == "done"


def test_a_question_stays_cancelled_between_its_steps(machine: Machine) -> None:
    questions = Questions()
    questions.cancel()
    with questions.asked():
        assert machine.worker.run(lambda: machine.work(0)) == "done", "what was cancelled before is another question"
        questions.cancel()
        with pytest.raises(Cancelled):
            check_cancelled()
        with pytest.raises(Cancelled):
            machine.worker.run(lambda: pytest.fail("no work for a cancelled question"))
    check_cancelled()
    with questions.asked():
        check_cancelled()


def test_work_that_retries_can_ask_whether_it_was_cancelled(machine: Machine, soon: Soon) -> None:
    questions, tries = Questions(), []

    def work() -> str:
        for _ in range(3):
            tries.append(1)
            try:
                return machine.work()
            except RuntimeError:
                check_cancelled()
        return "tried"

    soon(machine.working, questions.cancel)
    with pytest.raises(Cancelled), questions.asked():
        machine.worker.run(work)
    assert tries == [1]


def test_one_that_waits_for_its_turn_is_cancelled_without_an_interrupt_to_the_other(machine: Machine) -> None:
    questions, others, outcomes = Questions(), Questions(), list[object]()

    finish = threading.Event()

    def long() -> str:
        machine.working.set()
        return "done" if finish.wait(60) else "late"

    def ask(asked: Questions, work: Callable[[], str]) -> None:
        try:
            with asked.asked():
                outcomes.append(machine.worker.run(work))
        except Cancelled as error:
            outcomes.append(type(error))

    first = threading.Thread(target=ask, args=(others, long))
    first.start()
    machine.working.wait()
    second = threading.Thread(target=ask, args=(questions, machine.work))
    second.start()
    while not questions._open:
        time.sleep(0.01)
    questions.cancel()
    second.join(SOON)
    assert outcomes == [Cancelled]
    finish.set()
    first.join()
    assert outcomes == [Cancelled, "done"]
    assert machine.interrupts == 0


def test_work_that_hears_nothing_is_left_to_itself(machine: Machine, soon: Soon) -> None:
    """A database may plan for long, and be deaf to interrupts: its caller is free, and the next one waits."""
    questions, begun, release = Questions(), threading.Event(), threading.Event()

    def deaf() -> bool:
        begun.set()
        return release.wait(60)

    soon(begun, questions.cancel)
    started = time.monotonic()
    with pytest.raises(Cancelled), questions.asked():
        machine.worker.run(deaf)
    assert time.monotonic() - started < SOON
    assert machine.interrupts > 0
    threading.Timer(0.3, release.set).start()
    assert machine.worker.run(lambda: machine.work(0)) == "done"
    assert release.is_set()


def test_to_close_waits_for_no_work_that_hears_nothing(machine: Machine) -> None:
    begun, release, closed = threading.Event(), threading.Event(), threading.Event()
    outcomes: list[object] = []

    def deaf() -> bool:
        begun.set()
        return release.wait(60)

    def ask() -> None:
        try:
            machine.worker.run(deaf)
        except Cancelled as error:
            outcomes.append(type(error))

    thread = threading.Thread(target=ask)
    thread.start()
    begun.wait()
    started = time.monotonic()
    machine.worker.close(closed.set)
    thread.join()
    assert time.monotonic() - started < SOON
    assert outcomes == [Cancelled]
    assert not closed.is_set(), "it is closed when nobody uses it"
    release.set()
    assert closed.wait(60)


def test_no_interrupt_comes_late(machine: Machine) -> None:
    """Whenever a question is cancelled, it is answered or cancelled, and the next one is answered."""
    dice, questions = random.Random(7), Questions()
    for _ in range(40):
        threading.Timer(dice.random() * 0.02, questions.cancel).start()
        try:
            with questions.asked():
                assert machine.worker.run(lambda: machine.work(0.01)) == "done"
        except Cancelled:
            pass
        assert machine.worker.run(lambda: machine.work(0.01)) == "done"
