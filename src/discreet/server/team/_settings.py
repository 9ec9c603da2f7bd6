"""The settings of a server: a TOML file, or the options of `discreet serve`."""

from __future__ import annotations

import ipaddress
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from discreet.errors import ParameterError
from discreet.privacy import approx, mu, rho
from discreet.server.connections import check_beat

__all__ = [
    "AccountSettings",
    "HttpSettings",
    "Listener",
    "OidcSettings",
    "PostgresSettings",
    "Settings",
    "SourceSettings",
    "listener",
]

_PORTS = 65_535
_LONGEST_NAME = 255
_LOSSES = {"epsilon": approx, "rho": rho, "mu": mu}


def _file(path: Path) -> Path:
    if "\0" in str(path):
        raise ValueError("the name of a file has no NUL")
    return path


def _source_name(name: str) -> str:
    if not name.isprintable() or "/" in name or name in {"", ".", ".."} or len(name) > _LONGEST_NAME:
        raise ValueError(f"the name of a source has at most {_LONGEST_NAME} printable characters, and no /")
    return name


_File = Annotated[Path, AfterValidator(_file)]
_SourceName = Annotated[str, AfterValidator(_source_name)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Listener(_Strict):
    """An address to listen at."""

    host: str
    port: Annotated[int, Field(ge=0, le=_PORTS)]

    @property
    def is_loopback(self) -> bool:
        """Whether only programs on this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def listener(text: str) -> Listener:
    """The address in a text: a port, ``:PORT``, ``HOST:PORT`` or ``[HOST]:PORT``. Without a host it is 127.0.0.1.

    >>> str(listener(":5433")), str(listener("[::1]:80"))
    ('127.0.0.1:5433', '[::1]:80')
    """
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not port.isascii() or not port.isdigit() or int(port) > _PORTS:
        raise ParameterError(f"an address to listen at is HOST:PORT or :PORT, as 127.0.0.1:8080, not {text!r}")
    return Listener(host=host, port=int(port))


class SourceSettings(_Strict):
    """One source at the desk: its policy, its data, its ledger, and whether answers are shared.

    `data` is one source for every table, or one for each by its name, as ``--data`` has them.
    """

    policy: _File
    data: str | dict[str, str]
    ledger: str
    key_file: _File | None = None
    shelf: bool = False


class _Tls(_Strict):
    certificate: _File | None = None
    private_key: _File | None = None
    insecure: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.certificate is None) != (self.private_key is None):
            raise ValueError("certificate and private_key go together")
        return self


class HttpSettings(_Tls):
    """Where the HTTP API listens, with TLS if it has a certificate. Rates are a second."""

    listen: str = "127.0.0.1:8080"
    connections: Annotated[int, Field(ge=1, le=100_000)] = 1_000
    account_rate: float = 50.0
    account_burst: float = 200.0
    address_rate: float = 200.0
    address_burst: float = 800.0


class PostgresSettings(_Tls):
    """Where the PostgreSQL wire listens, with TLS if it has a certificate.

    With `clear_text` clients send their tokens inside TLS, in place of SCRAM: for accounts that were granted before a
    ledger had verifiers.
    """

    listen: str = "127.0.0.1:5433"
    connections: Annotated[int, Field(ge=1, le=100_000)] = 500
    clear_text: bool = False


class AccountSettings(_Strict):
    """What an account spends on a question that names no spend: in exact numbers, as ``epsilon = "0.1"``."""

    epsilon: Decimal | str | None = None
    rho: Decimal | str | None = None
    mu: Decimal | str | None = None
    delta: Decimal | str | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = {
            name: value
            for name, value in (("epsilon", self.epsilon), ("rho", self.rho), ("mu", self.mu))
            if value is not None
        }
        if len(given) > 1 or (self.delta is not None and not given):
            raise ValueError("an account spends in one currency: epsilon, rho or mu, and a delta beside it")
        for name, value in given.items():
            try:
                _LOSSES[name](str(value), "0" if self.delta is None else str(self.delta))
            except ParameterError as error:
                raise ValueError(str(error)) from None
        return self


class OidcSettings(_Strict):
    """An identity provider, as `OidcOptions` takes it; its secret is in a file, and none if there is no file."""

    issuer: str
    client_id: str
    client_secret_file: _File | None = None
    public_url: str | None = None
    audience: str | None = None
    claim: str
    accounts: dict[str, str] | None = None
    algorithms: list[Literal["RS256", "PS256", "ES256", "EdDSA"]] | None = None
    scopes: list[str] | None = None
    longest_age: int = 86_400
    leeway: int = 10

    def given(self) -> dict[str, Any]:
        """What was set, by the names that `OidcOptions` has, with the secret. Raises `ParameterError`."""
        path, secret = self.client_secret_file, None
        if path is not None:
            try:
                secret = path.read_text(encoding="utf-8").strip()
            except (OSError, ValueError):
                raise ParameterError(f"client_secret_file {path} cannot be read; name a file of this user's") from None
            if not secret:
                raise ParameterError(f"client_secret_file {path} is empty")
        given = {name: value for name, value in self if value is not None and name != "client_secret_file"}
        lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
        return {**given, **lists, "client_secret": secret}


class Settings(_Strict):
    """All settings. Whatever is not safe off this machine is refused: see `check`. A `beat` is in seconds.

    `state` is the desk's own file, by default beside the ledger: ``visits.ledger.desk``. With several sources each has
    one, whose name ends in the source's.
    """

    sources: Annotated[dict[_SourceName, SourceSettings], Field(min_length=1)]
    http: HttpSettings = HttpSettings()
    postgres: PostgresSettings | None = None
    state: _File | None = None
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    beat: float | None = None
    accounts: dict[str, AccountSettings] = Field(default_factory=dict[str, AccountSettings])
    oidc: OidcSettings | None = None

    def check(self) -> Self:
        """Raise `ParameterError` for what listens off this machine without TLS, workers without a file, a bad beat."""
        check_beat(self.beat)
        for name, each in (("http", self.http), ("postgres", self.postgres)):
            if each is None or each.certificate is not None or each.insecure or listener(each.listen).is_loopback:
                continue
            raise ParameterError(
                f"[{name}] would listen at {each.listen} without TLS, where tokens can be read on their way: give it a "
                "certificate and a private_key, listen at 127.0.0.1 behind a proxy, or say --insecure"
            )
        if self.postgres is not None and self.postgres.clear_text and self.postgres.certificate is None:
            raise ParameterError("[postgres] clear_text sends tokens, inside TLS alone: give it a certificate")
        self._check_places()
        return self

    def _check_places(self) -> None:
        ledgers = [each.ledger for each in self.sources.values()]
        if self.state is None and any("://" in ledger for ledger in ledgers):
            raise ParameterError("beside a ledger on a server there is no place for the desk's file: name one by state")
        if self.state is None and len(set(ledgers)) < len(ledgers):
            raise ParameterError(
                "several sources have one ledger, and no file of their own beside it: name one by state"
            )
        if self.state is not None and any(Path(ledger) == self.state for ledger in ledgers):
            raise ParameterError("the desk's file is another one than the ledger: name a new one by state")

    @classmethod
    def load(cls, path: Path) -> Settings:
        """The settings in a TOML file. Paths in it are relative to it. Raises `ParameterError`."""
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
            return cls.model_validate(content).relative_to(path.parent)
        except OSError as error:
            raise ParameterError(f"--config {path}: {error.strerror}; name a file that this user may read") from None
        except ValidationError as error:
            words = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
            raise ParameterError(f"--config {path}: {words}") from None
        except ValueError as error:
            raise ParameterError(f"--config {path} is not valid TOML: {error}") from None
        except RecursionError:
            raise ParameterError(f"--config {path} is nested too deeply for settings") from None

    def relative_to(self, home: Path) -> Settings:
        """The same settings with paths from a folder."""

        def place(path: Path | None) -> Path | None:
            return None if path is None else home / path

        def data(source: str) -> str:
            return source if "://" in source else str(home / source)

        sources = {
            name: each.model_copy(
                update={
                    "policy": home / each.policy,
                    "data": data(each.data)
                    if isinstance(each.data, str)
                    else {table: data(one) for table, one in each.data.items()},
                    "ledger": data(each.ledger),
                    "key_file": place(each.key_file),
                }
            )
            for name, each in self.sources.items()
        }
        tls = {
            name: each.model_copy(
                update={"certificate": place(each.certificate), "private_key": place(each.private_key)}
            )
            for name, each in (("http", self.http), ("postgres", self.postgres))
            if each is not None
        }
        oidc = self.oidc and self.oidc.model_copy(update={"client_secret_file": place(self.oidc.client_secret_file)})
        return self.model_copy(update={"sources": sources, "state": place(self.state), "oidc": oidc, **tls})
