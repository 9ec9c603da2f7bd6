"""`discreet collect scheme`."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.errors import ParameterError, printable

if TYPE_CHECKING:
    from discreet.local import Scheme

__all__ = ["EXAMPLES", "scheme"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet collect scheme hadamard_response --domain emoji.txt --epsilon 2 > emoji.json\n\n"
    "  discreet collect scheme optimized_unary --domain 50 --epsilon 1 --memoize > daily.json\n\n"
    "  discreet collect scheme square_wave --bounds 0 24 --epsilon 2 --set bins=96 > hours.json\n\n"
    "  discreet collect scheme sampled_attributes --part emoji=emoji.json --part hours=hours.json > device.json\n\n"
    """  discreet collect scheme marginals --epsilon 2 --set 'attributes={"os": ["a", "b"], "age": 4}' > t.json\n\n"""
    "docs/local.md says which protocol is for which question."
)


def scheme(  # noqa: PLR0913 (options of a command line)
    protocol: Annotated[
        str, typer.Argument(metavar="PROTOCOL", show_default=False, help="As kary_randomized_response, or hybrid.")
    ],
    *,
    epsilon: Annotated[
        str | None, typer.Option(metavar="E", show_default=False, help="ε of one report, as 2 or 1/2.")
    ] = None,
    domain: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|N", show_default=False, help="The values: a file with one name a line, or N for 0 … N − 1."
        ),
    ] = None,
    bounds: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="LOW HIGH", show_default=False, help="For numbers: the lowest and the highest."),
    ] = None,
    part: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE", show_default=False, help="An attribute and its document, to sample from. Repeatable."
        ),
    ] = None,
    memoize: Annotated[
        bool, typer.Option("--memoize", help="A device keeps a secret, and its report of a value is always the same.")
    ] = False,
    more: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", show_default=False, help="What else the protocol takes. Repeatable."
        ),
    ] = None,
) -> None:
    """Write the document of a scheme to stdout. Everything in it is public, and its fingerprint goes with each report.

    Choose ε once: every device and the collector must load the same document.
    """
    given: dict[str, Any] = {}
    if epsilon is not None:
        given["epsilon"] = epsilon
    if domain is not None:
        given["domain"] = _domain(domain)
    if bounds is not None:
        given["bounds"] = list(bounds)
    if part:
        given["parts"] = _parts(part)
    if memoize:
        given["longitudinal"] = "memoize"
    for each in more or []:
        name, value = _setting(each)
        if name in given:
            raise ParameterError(f"--set {name}: it is given twice")
        given[name] = value
    typer.echo(_construct(protocol, given).to_json())


def _domain(text: str) -> int | list[str]:
    from discreet.cli.collect._options import lines_of, read_file

    return int(text) if text.isascii() and text.isdigit() else lines_of(read_file(Path(text), "--domain"), "--domain")


def _parts(every: list[str]) -> dict[str, Scheme[Any]]:
    from discreet.cli.collect._options import scheme_from

    parts: dict[str, Scheme[Any]] = {}
    for each in every:
        name, sign, file = each.partition("=")
        if not sign or not name or name in parts:
            raise ParameterError(f"--part takes NAME=FILE, each name once, not {printable(each)!r}")
        parts[name] = scheme_from(Path(file))
    return parts


def _setting(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise ParameterError(f"--set takes NAME=VALUE, as bins=96, not {printable(text)!r}")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def _construct(protocol: str, given: dict[str, Any]) -> Scheme[Any]:
    from discreet import local

    classes = [each for name in local.__all__ if isinstance(each := getattr(local, name), type)]
    kinds: dict[str, Any] = {
        each.protocol: each for each in classes if issubclass(each, local.Scheme) and each is not local.Scheme
    }
    if protocol not in kinds:
        raise ParameterError(f"there is no protocol {printable(protocol)!r}; there are {', '.join(sorted(kinds))}")
    make = kinds[protocol]
    if "epsilon" in given and "epsilon" not in inspect.signature(make).parameters:
        make = make.from_epsilon
    takes = inspect.signature(make).parameters
    unknown = [name for name in given if name not in takes]
    missing = [name for name, each in takes.items() if each.default is each.empty and name not in given]
    if unknown or missing:
        wrong = f"takes no {', '.join(unknown)}" if unknown else f"also needs {', '.join(missing)}"
        raise ParameterError(
            f"{protocol} {wrong}; it takes {', '.join(takes)}; see --domain, --bounds, --part and --set"
        )
    try:
        return make(**given)
    except TypeError:
        raise ParameterError(f"{protocol} does not take such values; see the examples of --help") from None
