"""What a provider says of itself: bounded, from nowhere else, remembered, and asked again when keys change."""

from __future__ import annotations

import json
import ssl
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from asgi_servers import write_certificate
from cryptography.hazmat.primitives.asymmetric import rsa
from provider import FakeProvider, running

from discreet.server.http.identity import OidcOptions, Provider, ProviderFailed, _fetching
from discreet.server.http.identity._algorithms import public_keys
from discreet.server.http.identity._fetching import fetch_json

DISCOVERY = "/.well-known/openid-configuration"


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def provider(fake: FakeProvider, clock: Clock) -> Provider:
    return Provider(OidcOptions(fake.issuer, "discreet", "preferred_username"), clock)


def reads(fake: FakeProvider) -> int:
    return fake.asked.count("/jwks")


def test_keys_are_remembered_for_an_hour(provider: Provider, fake: FakeProvider, clock: Clock) -> None:
    for _ in range(5):
        assert provider.key("rsa", "RS256") is not None
        assert provider.key("ec", "ES256") is not None
    assert reads(fake) == 1
    clock.now += 3_601
    assert provider.key("rsa", "RS256") is not None
    assert reads(fake) == 2


def test_a_new_key_is_looked_up_once_a_minute_at_most(provider: Provider, fake: FakeProvider, clock: Clock) -> None:
    assert provider.key("rsa", "RS256") is not None
    for place in range(50):
        assert provider.key(f"forged-{place}", "RS256") is None
    assert reads(fake) == 1
    fake.keys["new"] = fake.keys["rsa"]
    import provider as module

    module.ALGORITHMS["new"] = "RS256"
    try:
        assert provider.key("new", "RS256") is None
        clock.now += 61
        assert provider.key("new", "RS256") is not None
        for place in range(50):
            assert provider.key(f"forged-{place}", "RS256") is None
        assert reads(fake) == 2
    finally:
        del module.ALGORITHMS["new"]


def test_a_key_that_is_withdrawn_is_good_no_longer(provider: Provider, fake: FakeProvider, clock: Clock) -> None:
    assert provider.key("rsa", "RS256") is not None
    del fake.keys["rsa"]
    clock.now += 3_601
    assert provider.key("rsa", "RS256") is None


def test_keys_serve_for_a_day_while_the_provider_is_away(provider: Provider, fake: FakeProvider, clock: Clock) -> None:
    assert provider.key("rsa", "RS256") is not None
    fake.spoiled[DISCOVERY] = 503, {}, b""
    clock.now += 80_000
    assert provider.key("rsa", "RS256") is not None
    asked = len(fake.asked)
    assert provider.key("rsa", "RS256") is not None
    assert len(fake.asked) == asked  # it is asked again after five seconds
    clock.now += 7_000
    assert provider.key("rsa", "RS256") is None
    fake.spoiled.clear()
    clock.now += 6
    assert provider.key("rsa", "RS256") is not None


def test_others_do_not_wait_while_one_reads(provider: Provider, fake: FakeProvider, clock: Clock) -> None:
    assert provider.key("rsa", "RS256") is not None
    clock.now += 61
    fake.delay = 0.5
    thread = threading.Thread(target=provider.key, args=("unknown", "RS256"))
    thread.start()
    time.sleep(0.1)
    began = time.monotonic()
    assert provider.key("rsa", "RS256") is not None
    assert provider.key("other", "RS256") is None
    assert time.monotonic() - began < 0.3
    thread.join()


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://elsewhere.example"},
        {"issuer": None},
        {"jwks_uri": "http://evil.example/jwks"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": None},
        {"token_endpoint": "https://user:pw@id.example/"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": "https://id.example/\r\nSet-Cookie: x=1"},
        {"jwks_uri": ["https://id.example"]},
    ],
)
def test_a_discovery_document_that_is_not_good(provider: Provider, fake: FakeProvider, document: Any) -> None:
    fake.more = document
    with pytest.raises(ProviderFailed):
        provider.refresh()
    assert provider.key("rsa", "RS256") is None
    with pytest.raises(ProviderFailed):
        provider.metadata()


@pytest.mark.parametrize("path", [DISCOVERY, "/jwks"])
@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        (302, {"Location": "http://127.0.0.1:9/elsewhere"}, b""),
        (200, {}, b"[" * 100_000),
        (200, {}, b"[]"),
        (200, {}, b"\xff\xfe"),
        (200, {"Content-Encoding": "gzip"}, b"\x1f\x8b"),
        (204, {}, b""),
        (500, {}, b"{}"),
    ],
)
def test_an_answer_that_is_not_good(
    provider: Provider, fake: FakeProvider, path: str, status: int, headers: dict[str, str], body: bytes
) -> None:
    fake.spoiled[path] = status, headers, body
    with pytest.raises(ProviderFailed):
        provider.refresh()
    assert set(fake.asked) <= {DISCOVERY, "/jwks"}


@pytest.mark.parametrize("path", [DISCOVERY, "/jwks"])
def test_right_documents_that_are_too_large_or_elsewhere(provider: Provider, fake: FakeProvider, path: str) -> None:
    right = fake.discovery() if path == DISCOVERY else {"keys": fake.jwks()}
    document = json.dumps(right).encode()
    fake.spoiled[path] = 200, {}, document + b" " * ((1 << 18) - len(document))
    provider.refresh()
    fake.spoiled[path] = 200, {}, document + b" " * ((1 << 18) - len(document) + 1)
    with pytest.raises(ProviderFailed, match="too much"):
        provider.refresh()
    fake.spoiled["/elsewhere"] = 200, {}, document
    for status in (301, 302, 303, 307, 308):
        fake.spoiled[path] = status, {"Location": "/realms/team/elsewhere"}, b""
        with pytest.raises(ProviderFailed, match=str(status)):
            provider.refresh()
    assert "/elsewhere" not in fake.asked


def test_an_answer_that_does_not_come(fake: FakeProvider) -> None:
    fake.delay = 0.6
    began = time.monotonic()
    with pytest.raises(ProviderFailed, match="in time"):
        fetch_json(f"{fake.issuer}/jwks", seconds=0.2)
    assert time.monotonic() - began < 0.5
    with pytest.raises(ProviderFailed, match="cannot be reached"):
        fetch_json("http://127.0.0.1:1/")
    with pytest.raises(ProviderFailed):
        fetch_json("https://[not a url")


def test_keys_that_are_left_out(fake: FakeProvider) -> None:
    by_name = {each["kid"]: each for each in fake.jwks()}
    good = by_name["rsa"]
    short = rsa.generate_private_key(65_537, 1024)
    algorithm = __import__("jwt").algorithms.RSAAlgorithm

    def has(*keys: Any) -> bool:
        return public_keys({"keys": list(keys)}).choose("rsa", "RS256") is not None

    assert has(good) and has({**good, "key_ops": ["verify"]}) and has({**good, "alg": "RS256"})
    assert not has()
    assert not has({**good, "use": "enc"})
    assert not has({**good, "key_ops": ["encrypt"]})
    assert not has({**good, "alg": "RS512"})
    assert not has({**good, "kid": "another"})
    assert not has({**good, "kid": 5})
    assert not has({**good, "kty": "oct", "k": "AAAA"})
    assert not has({"kty": "oct", "k": "AAAA", "kid": "rsa", "alg": "HS256"})
    private = json.loads(algorithm.to_jwk(fake.keys["rsa"])) | {"kid": "rsa", "key_ops": ["verify"]}
    assert not has(private)
    assert not has(algorithm.to_jwk(short.public_key(), as_dict=True) | {"kid": "rsa", "key_ops": None})
    assert not has(good, {**good})  # which of the two?
    assert not has({**good, "n": "!!"}) and not has({**good, "n": None}) and not has({**good, "e": "AQ"} | {"n": ""})
    assert not has("rsa", None, 5, [good])
    assert public_keys({"keys": "rsa"}).keys == () and public_keys({}).keys == ()
    curve = {**by_name["ec"], "kid": "rsa"}
    assert has(good, curve)  # one name, two kinds: the algorithm says which (RFC 7517, 4.5)
    assert public_keys({"keys": [{**curve, "crv": "P-384"}]}).keys == ()


def test_a_token_without_a_name_has_the_only_key_that_fits(fake: FakeProvider) -> None:
    keys = public_keys({"keys": fake.jwks()})
    assert keys.choose(None, "ES256") is not None and keys.choose(None, "EdDSA") is not None
    assert keys.choose(None, "RS256") is None  # there are two


def test_a_provider_whose_certificate_nobody_signed(keys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, key = write_certificate(tmp_path, "127.0.0.1")
    with running(FakeProvider(keys), ssl_certfile=str(certificate), ssl_keyfile=str(key)) as provider:
        assert provider.issuer.startswith("https://")
        with pytest.raises(ProviderFailed):
            fetch_json(f"{provider.issuer}/jwks")
        assert provider.asked == []
        context = ssl.create_default_context(cafile=str(certificate))
        context.check_hostname = False  # it names no host
        monkeypatch.setattr(_fetching, "_trusted", lambda: context)
        assert len(fetch_json(f"{provider.issuer}/jwks")["keys"]) == len(keys)
