"""`discreet serve`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.ledger._options import KeyFileOption
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.server.team import Settings

__all__ = ["EXAMPLES", "serve"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet serve visits.toml --data visits.parquet --ledger visits.ledger\n\n"
    "  discreet serve visits.toml --data visits.parquet --ledger visits.ledger --postgres :5433 --shelf\n\n"
    "  discreet serve --config serve.toml\n\n"
    "  curl -u ada:TOKEN http://127.0.0.1:8080/v1/budget\n\n"
    "The owner signs in by the code that is printed, and grants accounts there or by `discreet ledger grant`; each "
    "account asks by its token. docs/server.md has the API and all settings. Needs 'discreet\\[server]'."
)


def serve(  # noqa: PLR0913 — an option each
    policy: Annotated[
        Path | None, typer.Argument(metavar="POLICY", show_default=False, help="The TOML file of public facts.")
    ] = None,
    *,
    data: Annotated[
        list[str] | None,
        typer.Option("--data", "-d", metavar="[NAME=]SOURCE", show_default=False, help="As for `discreet query`."),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option("--ledger", "-l", metavar="LEDGER", show_default=False, help="As for `discreet query`."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", show_default=False, help="Settings in TOML, in place of POLICY."),
    ] = None,
    http: Annotated[
        str | None, typer.Option("--http", metavar="ADDRESS", help="Where the HTTP API listens. Default: :8080.")
    ] = None,
    postgres: Annotated[
        str | None,
        typer.Option("--postgres", metavar="ADDRESS", help="Where PostgreSQL clients connect, as :5433. Default: no."),
    ] = None,
    shelf: Annotated[
        bool, typer.Option("--shelf", help="An answer that one account paid for is free for all accounts.")
    ] = False,
    beat: Annotated[
        float | None,
        typer.Option("--beat", metavar="SECONDS", help="Paid answers and failures leave on whole beats. Default: no."),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            "--state", metavar="FILE", show_default=False, help="The desk's own file. Default: beside the ledger."
        ),
    ] = None,
    workers: Annotated[int | None, typer.Option("--workers", metavar="N", min=1, max=64, help="Processes.")] = None,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", metavar="FILE", show_default=False, help="PEM, for TLS.")
    ] = None,
    private_key: Annotated[
        Path | None, typer.Option("--private-key", metavar="FILE", show_default=False, help="PEM, for TLS.")
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Listen off this machine without TLS: tokens can be read on their way.")
    ] = False,
    key_file: KeyFileOption = None,
) -> None:
    """Serve a team: an HTTP API and the PostgreSQL wire on one desk, one ledger, an account for each.

    The data and the ledger stay with this process. An answer is paid once, and free again; nothing is charged that was
    not asked for at a price.
    """
    from discreet.server.team import serve as run

    tls = {"certificate": certificate, "private_key": private_key, "insecure": insecure}
    if config is not None:
        given = (policy, data, ledger, http, postgres, beat, state, workers, certificate, private_key, key_file)
        if any(each is not None for each in given) or shelf or insecure:
            raise ParameterError("--config has all settings: write the others into the file")
        settings = _configured(config)
    else:
        settings = _chosen(policy, data, ledger, state, key_file, shelf=shelf, workers=workers or 1)
        settings = settings.model_copy(
            update={
                "http": settings.http.model_validate({"listen": http or ":8080", **tls}),
                "postgres": _wire(postgres, tls),
                "beat": beat,
            }
        )
    run(settings, on_status=_tell)


def _configured(path: Path) -> Settings:
    from discreet.server.team import Settings

    return Settings.load(path)


def _chosen(  # noqa: PLR0913
    policy: Path | None,
    data: list[str] | None,
    ledger: str | None,
    state: Path | None,
    key_file: Path | None,
    *,
    shelf: bool,
    workers: int,
) -> Settings:
    from discreet.cli._options import source_of
    from discreet.cli.ledger._open import at_server
    from discreet.server.team import Settings, SourceSettings

    if policy is None or not data or ledger is None:
        raise ParameterError("name a POLICY, its --data and its --ledger, or a --config with all of them")
    if state is None:
        if at_server(ledger):
            raise ParameterError("beside a ledger on a server there is no place for the desk's file: name --state FILE")
        state = Path(f"{ledger}.desk")
    source = SourceSettings(policy=policy, data=source_of(data), ledger=ledger, key_file=key_file, shelf=shelf)
    try:
        return Settings(sources={policy.stem: source}, state=state, workers=workers)
    except ValueError:  # its name, which is that of the policy
        raise ParameterError(f"--config names sources as it likes: the name of {policy} is none for one") from None


def _wire(postgres: str | None, more: dict[str, Any]) -> Any:
    from discreet.server.team import PostgresSettings

    return None if postgres is None else PostgresSettings(listen=postgres, **more)


def _tell(line: str) -> None:
    from discreet.errors import printable

    typer.echo(printable(line), err=True)
