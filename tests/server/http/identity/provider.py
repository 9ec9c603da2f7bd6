"""An identity provider for tests: an ASGI application on loopback, whose answers a test can spoil."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
import uvicorn
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import get_default_algorithms

ALGORITHMS = {"rsa": "RS256", "pss": "PS256", "ec": "ES256", "ed": "EdDSA"}


def new_keys() -> dict[str, Any]:
    return {
        "rsa": rsa.generate_private_key(65_537, 2048),
        "pss": rsa.generate_private_key(65_537, 2048),
        "ec": ec.generate_private_key(ec.SECP256R1()),
        "ed": ed25519.Ed25519PrivateKey.generate(),
    }


class FakeProvider:
    """What it says, and what it was asked. `spoiled` has answers by path that come in place of the right ones."""

    def __init__(self, keys: dict[str, Any], client_id: str = "discreet") -> None:
        self.keys, self.client_id = keys, client_id
        self.issuer = ""
        self.asked: list[str] = []
        self.spoiled: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.more: dict[str, Any] = {}
        self.user: dict[str, Any] = {"preferred_username": "ada"}
        self.claims_of_code: dict[str, dict[str, Any]] = {}
        self.challenges: dict[str, str] = {}
        self.secret: str | None = None
        self.delay = 0.0

    def claims(self, **other: Any) -> dict[str, Any]:
        now = int(time.time())
        plain = {"iss": self.issuer, "aud": self.client_id, "sub": "u-1", "iat": now, "exp": now + 300, **self.user}
        return {name: value for name, value in {**plain, **other}.items() if value is not None}

    def token(self, kid: str = "rsa", *, headers: dict[str, Any] | None = None, key: Any = None, **claims: Any) -> str:
        algorithm = ALGORITHMS[kid]
        signing = self.keys[kid] if key is None else key
        return jwt.encode(self.claims(**claims), signing, algorithm, headers={"kid": kid, **(headers or {})})

    def jwks(self) -> list[dict[str, Any]]:
        algorithms = get_default_algorithms()
        found: list[dict[str, Any]] = []
        for kid, key in self.keys.items():
            public = algorithms[ALGORITHMS[kid]].to_jwk(key.public_key(), as_dict=True)
            public.pop("key_ops", None)
            found.append({**public, "kid": kid, "use": "sig"})
        return found

    def discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
            **self.more,
        }

    def sign_in(self, location: str) -> dict[str, str]:
        """What a browser is redirected with that has gone to the provider and signed in there."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}
        assert asked["response_type"] == "code" and asked["code_challenge_method"] == "S256"
        code = base64.urlsafe_b64encode(hashlib.sha256(asked["state"].encode()).digest()).decode()
        self.claims_of_code[code] = self.claims(nonce=asked["nonce"])
        self.challenges[code] = asked["code_challenge"]
        return {"code": code, "state": asked["state"]}

    def _exchange(self, form: dict[str, str], authorization: str | None) -> tuple[int, dict[str, Any]]:
        claims = self.claims_of_code.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if self.secret is not None:
            wanted = base64.b64encode(f"{self.client_id}:{self.secret}".encode()).decode()
            if authorization != f"Basic {wanted}":
                return 401, {"error": "invalid_client"}
        if claims is None or self.challenges.pop(form["code"]) != challenge:
            return 400, {"error": "invalid_grant"}
        token = jwt.encode(claims, self.keys["rsa"], "RS256", headers={"kid": "rsa"})
        return 200, {"access_token": "opaque", "token_type": "Bearer", "id_token": token}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"].removeprefix(urlsplit(self.issuer).path)
        self.asked.append(path)
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        await asyncio.sleep(self.delay)
        headers: dict[str, str] = {}
        if path in self.spoiled:
            status, headers, content = self.spoiled[path]
        elif path == "/.well-known/openid-configuration":
            status, content = 200, json.dumps(self.discovery()).encode()
        elif path == "/jwks":
            status, content = 200, json.dumps({"keys": self.jwks()}).encode()
        elif path == "/token":
            form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
            given = {name.decode(): value.decode() for name, value in scope["headers"]}
            status, answer = self._exchange(form, given.get("authorization"))
            content = json.dumps(answer).encode()
        else:
            status, content = 404, b"{}"
        pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": content})


@contextmanager
def running(provider: FakeProvider, **tls: Any) -> Iterator[FakeProvider]:
    """The provider at a port of its own."""
    config = uvicorn.Config(provider, port=0, lifespan="off", log_config=None, access_log=False, **tls)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    provider.issuer = f"http{'s' if tls else ''}://127.0.0.1:{port}/realms/team"
    try:
        yield provider
    finally:
        server.should_exit = True
        thread.join(10)


def callback(parameters: dict[str, str]) -> str:
    return f"/sign-in/callback?{urlencode(parameters)}"
