"""A front before a real desk, in a thread of its own, and what a test asks it by."""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from psycopg.conninfo import make_conninfo

from discreet import noise
from discreet.engines import open_engine
from discreet.ledger import open_ledger
from discreet.policy import load_policy
from discreet.privacy import pure
from discreet.server.connections import Certificates
from discreet.server.desk import Desk
from discreet.server.postgres import ALPN, Catalogue, Encryption, Limits, PostgresFront, Terms, encrypting
from discreet.server.team._listening import bound
from discreet.server.team._settings import listener

POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 1000},
    "tables": {
        "visits": {
            "unit": "person",
            "max_rows": 1,
            "columns": {
                "person": {"type": "int"},
                "city": {"type": "string", "keys": ["Cork", "Limerick", "Galway"]},
                "cost": {"type": "float", "bounds": [0, 100]},
                "day": {"type": "date", "bounds": ["2024-01-01", "2024-12-31"]},
                "stay": {"type": "int", "bounds": [0, 30]},
                "insured": {"type": "bool"},
            },
        }
    },
}
COUNT = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city ORDER BY city"


def visits(rows: int = 3_000) -> pa.Table:
    cities = ["Cork", "Limerick", "Galway"]
    return pa.table(
        {
            "person": list(range(rows)),
            "city": [cities[i % 3] for i in range(rows)],
            "cost": [float(i % 100) for i in range(rows)],
            "day": [dt.date(2024, 1, 1) + dt.timedelta(days=i % 366) for i in range(rows)],
            "stay": [i % 30 for i in range(rows)],
            "insured": [i % 2 == 0 for i in range(rows)],
        }
    )


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of localhost, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "server.crt", folder / "server.key"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return paths


def encryption(paths: tuple[Path, Path]) -> Callable[[], Encryption]:
    return encrypting(Certificates(*paths, protocols=(ALPN,)), paths[0])


def terms(**more: Any) -> Terms:
    return Terms(noise.secret, **more)


OFTEN = Limits(account_rate=1e6, account_burst=1e6, address_rate=1e6, address_burst=1e6)


class Front:
    """A running front, with its desk and the tokens of its accounts."""

    def __init__(
        self,
        terms: Terms,
        *,
        limits: Limits | None = None,
        shelf: bool = False,
        tables: Any = None,
        catalogue: Catalogue | None = None,
    ) -> None:
        policy = load_policy(POLICY)
        self.ledger = open_ledger(None, budget=pure(1000), relation=policy.relation)
        self.tokens = {name: self.ledger.grant(name, pure(100)) for name in ("ada", "bob")}
        self.tokens["poor"] = self.ledger.grant("poor", pure("0.15"))
        engine = open_engine({"visits": visits()} if tables is None else tables, policy)
        self.desk = Desk(policy, engine, self.ledger, None, shelf=shelf)
        self.terms, self.limits, self.catalogue = terms, limits or OFTEN, catalogue
        self.status: list[str] = []
        self.host, self.port = "127.0.0.1", 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._front: PostgresFront | None = None

    def start(self) -> Front:
        self._thread.start()
        self.host, self.port = self.run(self._start)
        return self

    async def _start(self) -> tuple[str, int]:
        shown = self.catalogue
        self._front = PostgresFront(
            {"visits": self.desk},
            self.terms,
            limits=self.limits,
            on_status=self.status.append,
            catalogue=None if shown is None else lambda _database, _account: shown,
        )
        listening = bound(listener("127.0.0.1:0"))
        address = listening.getsockname()
        await self._front.start(listening)
        return address[0], address[1]

    @property
    def front(self) -> PostgresFront:
        assert self._front is not None
        return self._front

    def run(self, make: Callable[[], Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(make(), self._loop).result(60)

    def stop(self) -> None:
        self.run(self.front.stop)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self.desk.close()

    def dsn(self, account: str = "ada", **more: str) -> str:
        return make_conninfo(
            **{
                "host": self.host, "port": str(self.port), "user": account,
                "password": self.tokens.get(account) or "no", "dbname": "visits", "sslmode": "disable", **more,
            }
        )  # fmt: skip

    def spent(self, account: str = "ada") -> Fraction:
        """Epsilon."""
        spent = self.ledger.open_account(account, self.tokens[account]).spent
        return Fraction(spent.epsilon(0)).limit_denominator(10**6)


def fresh() -> str:
    """A condition that makes a question new, and leaves its answer as it is."""
    return f"cost < {1000 + int.from_bytes(noise.secret(6), 'big')}"
