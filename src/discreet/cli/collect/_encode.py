"""`discreet collect encode`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.collect._options import SchemeOption
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.local import Scheme

__all__ = ["EXAMPLES", "encode"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  echo bike | discreet collect encode --scheme ways.json > report\n\n"
    """  echo '{"os": "linux", "hours": 3.5}' | discreet collect encode --scheme device.json > report\n\n"""
    "  discreet collect encode --scheme daily.json --secret device.secret --new-secret < today.txt > report\n\n"
    '  curl -H "Idempotency-Key: $(uuidgen)" -H "Content-Type: application/octet-stream" --data-binary @report '
    "http://127.0.0.1:8000/reports"
)

_SECRET = re.compile(r"(?:[0-9a-fA-F]{2}){16,64}")


def encode(
    *,
    scheme: SchemeOption,
    secret: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="The device's secret, for schemes that memoize. Who knows it can undo the noise.",
        ),
    ] = None,
    new_secret: Annotated[
        bool, typer.Option("--new-secret", help="Make the file of --secret first, for its owner's eyes only.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write the batch as JSON, not in binary.")] = False,
) -> None:
    """Perturb values from stdin, one a line, and write a batch of reports to stdout.

    For schemes of several attributes or of numbers by key a line is a record in JSON, as {"os": "linux", "hours": 3.5},
    or in pairs where keys are numbers, as [[3, 12.5]].

    This is what runs on a device. Each value costs its person what `scheme.loss` says, or less where a scheme memoizes.
    """
    from discreet.cli.collect._options import scheme_from

    loaded = scheme_from(scheme)
    if not as_json and sys.stdout.isatty():
        raise ParameterError("a batch is binary: send it to a file with > FILE, or say --json")
    if new_secret and secret is None:
        raise ParameterError("--new-secret goes with --secret FILE: say which file to make")
    if loaded.longitudinal == "memoize" and secret is None:
        raise ParameterError(
            "this scheme memoizes: name the device's secret with --secret FILE; --new-secret beside it makes the file"
        )
    if loaded.longitudinal != "memoize" and secret is not None:
        raise ParameterError("this scheme draws every report afresh and has no use for a secret; leave --secret out")
    values = _values(loaded, sys.stdin.buffer.read())
    loaded.prepare(values)  # raises before a secret is made
    reports = loaded.client(None if secret is None else _secret(secret, new=new_secret)).encode(values)
    if as_json:
        typer.echo(reports.to_json())
    else:
        sys.stdout.buffer.write(bytes(reports))


def _values(scheme: Scheme[Any], content: bytes) -> list[Any]:
    """The values as the scheme takes them. Errors do not quote a value, which is private."""
    from discreet.cli.collect._options import lines_of
    from discreet.local import KeyValues, Marginals, SampledAttributes

    lines = lines_of(content, "the values on stdin")
    if isinstance(scheme, KeyValues | Marginals | SampledAttributes):
        return [_record(line) for line in lines]
    domain = getattr(scheme, "domain", None)
    document = json.loads(scheme.to_json())
    kind: Callable[[str], Any] = str
    wanted = "a text"
    if "bounds" in document:
        kind, wanted = float, "a number"
    elif "dimension" in document:
        kind, wanted = _vector, "numbers with blanks or commas between them"
    elif domain is not None and domain.names is None:
        kind, wanted = int, f"a whole number from 0 to {domain.size - 1}"
    try:
        return [kind(line) for line in lines]
    except ValueError:
        raise ParameterError(f"each line on stdin must be {wanted}, and one is not") from None


def _record(line: str) -> Any:
    """A record in JSON, in which no name may be there twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise ValueError
        return dict(pairs)

    try:
        return json.loads(line, object_pairs_hook=once)
    except (ValueError, RecursionError):
        raise ParameterError(
            'each line on stdin must be a record in JSON, as {"os": "linux"}, each name once, and one is not'
        ) from None


def _vector(line: str) -> list[float]:
    return [float(each) for each in line.replace(",", " ").split()]


def _secret(path: Path, *, new: bool) -> bytes:
    from discreet.cli.collect._options import read_file
    from discreet.cli.ledger._open import new_secret_file
    from discreet.noise import secret

    if new:
        key = secret(32)
        new_secret_file(path, key.hex(), "--secret")
        return key
    text = read_file(path, "--secret").decode("ascii", "replace").strip()
    if not _SECRET.fullmatch(text):
        raise ParameterError(f"--secret {path} holds no secret: 32 to 128 hexadecimal digits; --new-secret makes one")
    return bytes.fromhex(text)
