"""Tokens of an identity provider: one that is forged, for somebody else, or not good now opens nothing."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from hypothesis import given, settings
from hypothesis import strategies as st
from provider import FakeProvider

from discreet.errors import ParameterError
from discreet.server.http.identity import Identity, OidcOptions, Provider, Refused, account_by_bearer

Check = Callable[[str], Identity]


CLAIM = "preferred_username"


@pytest.fixture(scope="module")
def provider(one_provider: FakeProvider) -> Provider:
    """One that has read the right keys."""
    provider = Provider(OidcOptions(one_provider.issuer, "discreet", CLAIM))
    provider.refresh()
    return provider


@pytest.fixture
def check(provider: Provider, fake: FakeProvider) -> Check:
    return account_by_bearer(provider)


def reason(check: Check, token: str) -> str:
    with pytest.raises(Refused) as refused:
        check(token)
    assert token not in str(refused.value)
    return refused.value.reason


def encoded(part: object) -> str:
    content = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def public_pem(key: Any) -> bytes:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, form)


def signed(fake: FakeProvider, header: dict[str, Any], **claims: Any) -> str:
    """A token with any header, signed by the provider's RSA key."""
    text = f"{encoded(header)}.{encoded(fake.claims(**claims))}"
    algorithm = jwt.algorithms.get_default_algorithms()["RS256"]
    return f"{text}.{encoded(algorithm.sign(text.encode(), fake.keys['rsa']))}"


@pytest.mark.parametrize("kid", ["rsa", "pss", "ec", "ed"])
def test_each_signature_on_the_list_is_taken(fake: FakeProvider, kid: str) -> None:
    check = account_by_bearer(Provider(OidcOptions(fake.issuer, "discreet", CLAIM)))
    identity = check(fake.token(kid))
    assert identity.account == "ada"
    assert identity.until == pytest.approx(time.time() + 310, abs=5)
    assert check(fake.token(kid, headers={"typ": "at+jwt"})) is not None
    assert fake.asked == ["/.well-known/openid-configuration", "/jwks"]


def test_no_signature_at_all(check: Check, fake: FakeProvider) -> None:
    claims = encoded(fake.claims())
    for name in ("none", "None", "NONE", "nOnE", ""):
        for signature in ("", encoded(b"x")):
            assert reason(check, f"{encoded({'alg': name, 'kid': 'rsa'})}.{claims}.{signature}") == "algorithm"
    assert reason(check, f"{encoded({'kid': 'rsa'})}.{claims}.") == "algorithm"
    assert reason(check, f"{encoded({'alg': 'RS256', 'kid': 'rsa'})}.{claims}.") == "signature"


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_a_public_key_is_no_shared_secret(check: Check, fake: FakeProvider, algorithm: str) -> None:
    import hashlib
    import hmac

    pem = public_pem(fake.keys["rsa"])
    jwk = json.dumps(fake.jwks()[0]).encode()
    for secret in (pem, pem.strip(), jwk, b""):
        text = f"{encoded({'alg': algorithm, 'typ': 'JWT', 'kid': 'rsa'})}.{encoded(fake.claims())}"
        digest = hmac.new(secret, text.encode(), getattr(hashlib, algorithm.replace("HS", "sha"))).digest()
        assert reason(check, f"{text}.{encoded(digest)}") == "algorithm"


@pytest.mark.parametrize(
    "algorithm", ["RS384", "RS512", "PS384", "ES384", "ES512", "ES256K", "rs256", ["RS256"], 5, None]
)
def test_signatures_off_the_list(check: Check, fake: FakeProvider, algorithm: Any) -> None:
    assert reason(check, signed(fake, {"alg": algorithm, "kid": "rsa"})) in {"algorithm", "malformed"}


def test_an_owner_may_take_fewer(fake: FakeProvider) -> None:
    check = account_by_bearer(Provider(OidcOptions(fake.issuer, "discreet", CLAIM, algorithms=("ES256",))))
    assert check(fake.token("ec")).account == "ada"
    assert reason(check, fake.token("rsa")) == "algorithm"


def test_the_algorithm_fits_the_key(check: Check, fake: FakeProvider) -> None:
    assert reason(check, signed(fake, {"alg": "ES256", "kid": "rsa"})) == "key"
    assert reason(check, signed(fake, {"alg": "RS256", "kid": "ec"})) == "key"
    assert reason(check, signed(fake, {"alg": "PS256", "kid": "rsa"})) == "signature"
    only_pss = [{**each, "alg": "PS256"} for each in fake.jwks() if each["kid"] == "rsa"]
    fake.spoiled["/jwks"] = 200, {}, json.dumps({"keys": only_pss}).encode()
    fresh = account_by_bearer(Provider(OidcOptions(fake.issuer, "discreet", CLAIM)))
    assert reason(fresh, fake.token("rsa")) == "key"
    assert fresh(jwt.encode(fake.claims(), fake.keys["rsa"], "PS256", headers={"kid": "rsa"})).account == "ada"


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"iss": "https://elsewhere.example"}, "issuer"),
        ({"iss": None}, "malformed"),
        ({"iss": 5}, "issuer"),
        ({"iss": ["x"]}, "issuer"),
        ({"aud": "another"}, "audience"),
        ({"aud": ["another", "third"]}, "audience"),
        ({"aud": []}, "malformed"),
        ({"aud": {"discreet": 1}}, "audience"),
        ({"aud": None}, "malformed"),
        ({"sub": None}, "malformed"),
        ({"sub": 5}, "malformed"),
        ({"exp": None}, "malformed"),
        ({"exp": "never"}, "malformed"),
        ({"exp": "99999999999"}, "malformed"),
        ({"exp": True}, "malformed"),
        ({"exp": float("nan")}, "malformed"),
        ({"exp": float("inf")}, "malformed"),
        ({"exp": 1}, "time"),
        ({"exp": -(10**300)}, "time"),
        ({"iat": None}, "malformed"),
        ({"iat": 0, "exp": 10**12}, "time"),
        ({"iat": 10**300, "exp": 10**301}, "time"),
        ({"iat": 10**11, "nbf": 0, "exp": 10**12}, "time"),
        ({"nbf": 10**12}, "time"),
        ({"nbf": "soon"}, "malformed"),
        ({"cnf": {"jkt": "x"}}, "kind"),
        ({"events": {"http://schemas.openid.net/event/backchannel-logout": {}}}, "kind"),
        ({"preferred_username": None}, "account"),
        ({"preferred_username": ""}, "account"),
        ({"preferred_username": ["ada"]}, "account"),
        ({"preferred_username": "ada "}, "account"),
        ({"preferred_username": "../owner"}, "account"),
        ({"preferred_username": "ada\x00"}, "account"),
    ],
)
def test_claims_that_are_not_good(check: Check, fake: FakeProvider, claims: dict[str, Any], why: str) -> None:
    assert reason(check, signed(fake, {"alg": "RS256", "kid": "rsa", "typ": "JWT"}, **claims)) == why


def test_time_goes_on(provider: Provider, fake: FakeProvider) -> None:
    token, now = fake.token(exp=int(time.time()) + 60), time.time()
    assert account_by_bearer(provider, lambda: now + 60)(token).account == "ada"  # clocks may differ by ten seconds
    assert reason(account_by_bearer(provider, lambda: now + 71), token) == "time"
    assert reason(account_by_bearer(provider, lambda: now - 30), token) == "time"
    old = fake.token(exp=int(now) + 10**7)
    assert account_by_bearer(provider, lambda: now + 86_000)(old).until <= now + 86_400 + 15
    assert reason(account_by_bearer(provider, lambda: now + 86_500), old) == "time"


@pytest.mark.parametrize(
    "kid", ["../../dev/null", "x' OR '1'='1", "rsa\x00", " rsa", "RSA", "", "http://evil.example/jwks", 5, ["rsa"], {}]
)
def test_names_of_keys_lead_nowhere_else(check: Check, fake: FakeProvider, kid: Any) -> None:
    assert reason(check, signed(fake, {"alg": "RS256", "kid": kid})) in {"key", "malformed"}
    assert set(fake.asked) <= {"/.well-known/openid-configuration", "/jwks"}


def test_keys_in_a_header_are_not_read(check: Check, fake: FakeProvider) -> None:
    own = rsa.generate_private_key(65_537, 2048)
    jwk = jwt.algorithms.RSAAlgorithm.to_jwk(own.public_key(), as_dict=True)
    for more in (
        {"jwk": jwk},
        {"jku": f"{fake.issuer}/elsewhere"},
        {"x5u": f"{fake.issuer}/elsewhere"},
        {"x5c": [base64.b64encode(public_pem(own)).decode()]},
    ):
        forged = jwt.encode(fake.claims(), own, "RS256", headers={"kid": "rsa", **more})
        assert reason(check, forged) == "signature"
        named = jwt.encode(fake.claims(), own, "RS256", headers={"kid": "mine", **more})
        assert reason(check, named) == "key"
    assert set(fake.asked) <= {"/.well-known/openid-configuration", "/jwks"}


def test_a_key_of_another_issuer(check: Check, fake: FakeProvider) -> None:
    other = jwt.encode(fake.claims(), rsa.generate_private_key(65_537, 2048), "RS256", headers={"kid": "rsa"})
    assert reason(check, other) == "signature"
    curve = jwt.encode(fake.claims(), ec.generate_private_key(ec.SECP256R1()), "ES256", headers={"kid": "ec"})
    assert reason(check, curve) == "signature"


def test_each_bit_of_a_token_counts(check: Check, fake: FakeProvider) -> None:
    token = fake.token("ec")
    for place in range(0, len(token), 7):
        other = "A" if token[place] != "A" else "B"
        with pytest.raises(Refused):
            check(f"{token[:place]}{other}{token[place + 1 :]}")


@pytest.mark.parametrize(
    "header",
    [
        {"crit": ["exp"]},
        {"crit": ["b64"], "b64": False},
        {"crit": []},
        {"typ": "logout+jwt"},
        {"typ": "dpop+jwt"},
        {"typ": 5},
        {"zip": "DEF", "crit": ["zip"]},
    ],
)
def test_headers_that_mean_something_else(check: Check, fake: FakeProvider, header: dict[str, Any]) -> None:
    assert reason(check, signed(fake, {"alg": "RS256", "kid": "rsa", **header})) in {"kind", "malformed"}


def test_huge_and_deep_tokens_cost_nothing(check: Check, fake: FakeProvider) -> None:
    check(fake.token())
    deep = b'{"alg":' + b"[" * 3000 + b"]" * 3000 + b"}"
    many = [
        fake.token(more="x" * 8_192),
        "." * 8_000,
        "a" * 10_000_000,
        f"{encoded(deep)}.{encoded({})}.{encoded(b'x')}",
        f"{encoded({'alg': 'RS256', 'kid': 'rsa'})}.{encoded({})}.{'A' * 4000}",
        "é.é.é",
        f"{encoded({'alg': 'RS256'})}.{encoded({})}.{encoded({})}.{encoded({})}.{encoded({})}",
    ]
    began = time.process_time()
    for token in many:
        assert reason(check, token) in {"malformed", "signature"}
    assert time.process_time() - began < 1


@settings(max_examples=200)
@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda raw: f"{encoded(raw)}.{encoded(raw)}.{encoded(raw)}"))
def test_whatever_is_sent_is_refused(token: str) -> None:
    unreachable = account_by_bearer(Provider(OidcOptions("http://127.0.0.1:1", "discreet", CLAIM)))
    with pytest.raises(Refused):
        unreachable(token)


def test_claims_name_accounts() -> None:
    def account(claims: dict[str, object], **more: Any) -> str | None:
        return OidcOptions("https://id.example", "discreet", **{"claim": CLAIM, **more}).account_of(claims)

    assert account({"preferred_username": "ada"}) == "ada"
    assert account({"sub": "u-1"}, claim="sub", accounts={"u-1": "ada"}) == "ada"
    assert account({"sub": "u-2"}, claim="sub", accounts={"u-1": "ada"}) is None
    assert account({"email": "ada@x.org", "email_verified": True}, claim="email") == "ada@x.org"
    assert account({"email": "ada@x.org"}, claim="email") is None
    assert account({"email": "ada@x.org", "email_verified": "true"}, claim="email") is None


@pytest.mark.parametrize(
    "more",
    [
        {"issuer": "http://id.example"},
        {"issuer": "https://user:pw@id.example"},
        {"issuer": "https://id.example/#x"},
        {"issuer": "https://id.example/?x"},
        {"issuer": "ftp://id.example"},
        {"issuer": "http://127.0.0.1.evil.example"},
        {"public_url": "https://dp.example/path"},
        {"public_url": "http://dp.example"},
        {"public_url": "https://dp.example/"},
        {"public_url": "https://DP.example"},
        {"public_url": "https://dp.example:443"},
        {"public_url": "https://dp.example:99999"},
        {"public_url": "null"},
        {"algorithms": ("HS256",)},
        {"algorithms": ("none",)},
        {"algorithms": ()},
        {"client_id": ""},
        {"audience": ""},
        {"scopes": ("profile",)},
        {"longest_age": 0},
        {"leeway": 10**6},
        {"accounts": {"x": "not a name"}},
    ],
)
def test_what_cannot_be_configured(more: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        OidcOptions(**{"issuer": "https://id.example", "client_id": "discreet", "claim": "sub", **more})


@pytest.mark.parametrize(
    "url", ["https://dp.example", "https://dp.example:8443", "http://[::1]:8080", "http://localhost"]
)
def test_origins_that_can_be_configured(url: str) -> None:
    assert (
        OidcOptions("https://id.example", "discreet", CLAIM, public_url=url).redirect_uri
        == f"{url}/v1/sign-in/callback"
    )


def test_a_secret_is_in_no_repr() -> None:
    assert "hunter" not in repr(OidcOptions("https://id.example", "discreet", CLAIM, client_secret="hunter"))
