"""The prompt of a terminal: history, completion, and statements of several lines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from discreet.cli.shell._completion import completions
from discreet.cli.shell._statements import is_complete
from discreet.errors import MissingExtra

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    from discreet.policy import Policy

__all__ = ["check_installed", "history_file", "prompt"]

_PROMPT, _CONTINUATION = "discreet> ", "     ...> "


def check_installed() -> None:
    """Raise `MissingExtra` without prompt_toolkit."""
    try:
        import prompt_toolkit  # noqa: F401 # pyright: ignore[reportUnusedImport]
    except ImportError:
        raise MissingExtra(
            "a prompt needs prompt_toolkit: pip install 'discreet[shell]'; without it, send statements to standard "
            "input: discreet shell … < questions.sql"
        ) from None


def history_file() -> Path:
    """Where the user's statements are remembered. Raises `OSError` for a user without a home."""
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():
        try:
            state = Path.home() / ".local" / "state"
        except RuntimeError:
            raise OSError(0, "this user has no home directory") from None
    return state / "discreet" / "history"


def prompt(policy: Policy, commands: Sequence[str], status: Callable[[], str], *, history: bool) -> Callable[[], str]:
    """A function that asks for a text that has ended.

    It raises `KeyboardInterrupt` for Ctrl-C, which forgets the text, and `EOFError` for Ctrl-D.
    """
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import InMemoryHistory

    line = [""]
    session: PromptSession[str] = PromptSession(
        _PROMPT,
        multiline=True,
        prompt_continuation=_CONTINUATION,
        history=_remembered() if history else InMemoryHistory(),
        completer=_completer(policy, commands),
        complete_while_typing=False,
        key_bindings=_bindings(),
        bottom_toolbar=lambda: line[0],
        enable_open_in_editor=False,
    )

    def ask() -> str:
        line[0] = status()
        return session.prompt()

    return ask


def _remembered() -> History:
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    try:
        path = history_file()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        os.close(handle)
        path.chmod(0o600)
    except OSError as error:
        typer.echo(f"statements are not remembered: {error.strerror}", err=True)
        return InMemoryHistory()
    return FileHistory(path)


def _completer(policy: Policy, commands: Sequence[str]) -> Completer:
    from prompt_toolkit.completion import Completer, Completion

    class PolicyCompleter(Completer):
        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:  # noqa: ARG002
            word, choices = completions(document.text_before_cursor, policy, commands)
            for choice in choices:
                yield Completion(choice, start_position=-len(word))

    return PolicyCompleter()


def _bindings() -> KeyBindings:
    """Enter ends a text that is complete, and else begins a line."""
    from prompt_toolkit.key_binding import KeyBindings

    bindings = KeyBindings()

    @bindings.add("enter")
    def _(event: KeyPressEvent) -> None:  # pyright: ignore[reportUnusedFunction]
        buffer = event.current_buffer
        if buffer.complete_state is not None:
            buffer.complete_state = None
        elif is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return bindings
