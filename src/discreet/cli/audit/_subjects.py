"""The mechanisms that `discreet audit` is asked for: our own by name, and a user's functions."""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError, ParameterError

if TYPE_CHECKING:
    from discreet.audit import Batched, Entry
    from discreet.privacy import Loss

__all__ = ["Asked", "asked_for", "own_entries", "pairs_from", "user_code"]

Pair = tuple[Any, Any]

SAMPLES = 100_000
_MOST_PAIRS = 1_000


@dataclass(frozen=True, slots=True)
class Asked:
    """One mechanism to audit. `importable`: whether its name alone is enough to load it in another process."""

    name: str
    mechanism: Any
    pairs: Sequence[Pair]
    claim: Loss
    delta: Any
    samples: int
    importable: bool

    @property
    def drawn(self) -> Batched:
        """The mechanism to draw from, with plain words where that fails."""
        from discreet.audit import batched, subject

        draws = subject(self.mechanism)

        def draw(data: Any, size: int) -> Sequence[Any]:
            try:
                outputs = draws.draw(data, size)
                len(outputs)
            except DiscreetError:
                raise
            except Exception as error:
                raise ParameterError(f"{self.name} cannot be drawn from: {_describe(error)}") from error
            return outputs

        return batched(draw)


@contextmanager
def user_code() -> Generator[None]:
    """Modules come from the current directory first, and what they print goes to stderr: stdout is for the answer."""
    here, before, stdout = str(Path.cwd()), list(sys.path), sys.stdout
    sys.path.insert(0, here)
    sys.stdout = sys.stderr
    try:
        yield
    finally:
        sys.stdout = stdout
        sys.path[:] = before


def own_entries() -> dict[str, Entry]:
    """The audits of our own mechanisms, by name."""
    from discreet.audit import entries

    return {entry.name: entry for entry in entries()}


def pairs_from(written: Sequence[str], generator: str | None) -> list[Pair]:
    """The pairs of inputs of `--pair` and `--pairs`."""
    pairs = [_pair(text) for text in written]
    if generator is not None:
        loaded = _loaded(generator, "--pairs")
        try:
            generated: object = loaded() if callable(loaded) else loaded
            if not isinstance(generated, Iterable):
                raise ParameterError(
                    f"--pairs {generator} must give pairs of inputs, it gave {type(generated).__name__}"
                )
            pairs += [_two(each, f"--pairs {generator}") for each in islice(generated, _MOST_PAIRS)]  # pyright: ignore[reportUnknownArgumentType]
        except ParameterError:
            raise
        except Exception as error:
            raise ParameterError(f"--pairs {generator} failed: {_describe(error)}") from error
        if not pairs:
            raise ParameterError(f"--pairs {generator} gave no pairs")
    return pairs


def asked_for(names: Sequence[str], pairs: Sequence[Pair], claim: Loss | None, samples: int | None) -> list[Asked]:
    """What the names stand for. Pairs, claim and samples take the place of what our own mechanisms bring along."""
    own = own_entries() if any(not _is_users(name) for name in names) else {}
    spelt = {name.casefold(): name for name in own}
    exact = dict.fromkeys(spelt.get(name.casefold(), name) for name in names)
    return [_asked(name, own, pairs, claim, samples) for name in exact]


def _asked(name: str, own: dict[str, Entry], pairs: Sequence[Pair], claim: Loss | None, samples: int | None) -> Asked:
    if name in own:
        entry = own[name]
        brought = Asked(name, entry.mechanism, entry.pairs, entry.claim, entry.delta, entry.samples, importable=False)
        return replace(
            brought,
            pairs=pairs or entry.pairs,
            claim=entry.claim if claim is None else claim,
            delta=entry.delta if claim is None else None,
            samples=entry.samples if samples is None else samples,
        )
    if not _is_users(name):
        near = get_close_matches(name, own, n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ParameterError(
            f"there is no mechanism called {name!r}{hint} `discreet audit --list` lists all names; "
            "a function of your own is MODULE:FUNCTION"
        )
    named = _loaded(name, "audit")
    mechanism = _mechanism(named, name)
    if claim is None:
        raise ParameterError(f'what does {name} claim? Say it with --claim, such as --claim "pure(1)"')
    if not pairs:
        raise ParameterError('on which neighbouring inputs? Say it with --pair, such as --pair "[0, 1]", or --pairs')
    return Asked(name, mechanism, pairs, claim, None, SAMPLES if samples is None else samples, mechanism is named)


def _is_users(name: str) -> bool:
    module, colon, path = name.partition(":")
    return bool(colon) and all(part.isidentifier() for part in [*module.split("."), *path.split(".")])


def _loaded(name: str, what: str) -> Any:
    if not _is_users(name):
        raise ParameterError(f"{what} takes MODULE:FUNCTION, such as mine:noisy for noisy in mine.py, got {name!r}")
    module, _, path = name.partition(":")
    try:
        target: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(f"{error.name}.")):
            raise ParameterError(
                f"there is no module {module} in {Path.cwd().name}/ or among the installed packages"
            ) from error
        raise ParameterError(f"the module {module} cannot be imported: {_describe(error)}") from error
    except (Exception, SystemExit) as error:
        raise ParameterError(f"the module {module} cannot be imported: {_describe(error)}") from error
    for part in path.split("."):
        try:
            target = getattr(target, part)
        except AttributeError:
            near = get_close_matches(part, [each for each in dir(target) if not each.startswith("_")], n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ParameterError(f"{module} has no {path}{hint}") from None
    return target


def _mechanism(named: Any, name: str) -> Any:
    """What to audit: an object or a function of data as it is, or what a class or function without parameters makes."""
    mechanism = named
    if callable(named) and (inspect.isclass(named) or not _drawn(named)) and _takes_nothing(named):
        try:
            mechanism = named()
        except Exception as error:
            raise ParameterError(f"{name}() failed: {_describe(error)}") from error
    elif inspect.isclass(named):
        raise ParameterError(f"{name} is a class that needs arguments: name an object of it, or a function of the data")
    if not (_drawn(mechanism) or callable(mechanism)):
        raise ParameterError(
            f"{name} is no mechanism but {type(mechanism).__name__}: name a function of the data, or an object with "
            "release(data) or draw(data, size)"
        )
    return mechanism


def _drawn(each: Any) -> bool:
    return callable(getattr(each, "draw", None)) or callable(getattr(each, "release", None))


def _takes_nothing(function: Any) -> bool:
    try:
        return not inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def _pair(text: str) -> Pair:
    try:
        inputs = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParameterError(
            f'--pair is two inputs as a JSON list, such as "[0, 1]" or \'[["a"], ["a", "b"]]\', got {text!r}: {error}'
        ) from error
    return _two(inputs, "--pair")


def _two(inputs: object, where: str) -> Pair:
    if not isinstance(inputs, list | tuple) or len(inputs) != 2:  # pyright: ignore[reportUnknownArgumentType]
        raise ParameterError(f"{where} needs two neighbouring inputs, such as [0, 1], got {str(inputs)[:80]}")
    first, second = inputs  # pyright: ignore[reportUnknownVariableType]
    return first, second


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error)[:300]}" if str(error) else type(error).__name__
