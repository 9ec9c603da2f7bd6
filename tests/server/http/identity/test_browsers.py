"""Browsers that sign in by code: what another site, another browser or a second try can do with that, is nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from provider import FakeProvider, callback

from discreet.server.desk import BrowserSignIns
from discreet.server.desk._state import State

SESSION, FLOW = "__Host-discreet", "__Host-discreet-flow"
SAME_SITE = {"Discreet-Request": "1", "Origin": "https://desk.example"}
PLAN = {"query": "SELECT COUNT(*) AS n FROM visits", "spend": {"epsilon": "0.5"}}

Browsers = Callable[..., Any]


def sign_in(browser: Any, fake: FakeProvider) -> Any:
    location = browser("GET", "/sign-in").headers["location"]
    return browser("GET", callback(fake.sign_in(location)))


def log_of(team: Any) -> list[tuple[str, str, dict[str, Any]]]:
    return [(each.act, each.account, dict(each.data)) for each in team.desk.log.entries(count=1000)]


def test_a_browser_signs_in_asks_and_signs_out(browsers: Browsers, fake: FakeProvider, team: Any) -> None:
    browser = browsers()
    assert browser("GET", "/budget").status_code == 401
    started = browser("GET", "/sign-in")
    assert started.status_code == 303 and started.content == b""
    location = urlsplit(started.headers["location"])
    assert f"{location.scheme}://{location.netloc}{location.path}" == f"{fake.issuer}/authorize"
    asked = parse_qs(location.query, strict_parsing=True)
    assert {name: len(values) for name, values in asked.items()} == dict.fromkeys(asked, 1)
    assert asked["redirect_uri"] == ["https://desk.example/v1/sign-in/callback"]
    assert len(asked["state"][0]) == 48 and len(asked["nonce"][0]) == len(asked["code_challenge"][0]) == 43

    done = browser("GET", callback(fake.sign_in(started.headers["location"])))
    assert done.status_code == 200
    assert done.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in done.headers["content-security-policy"]
    cookies = done.headers.get_list("set-cookie")
    (session,) = [each for each in cookies if each.startswith(f"{SESSION}=")]
    attributes = {part.strip().lower() for part in session.split(";")[1:]}
    assert attributes == {"httponly", "secure", "samesite=strict", "path=/", "max-age=28800"}
    assert len(browser.cookies[SESSION]) == 48 and FLOW not in browser.cookies

    assert browser("GET", "/budget").status_code == 200
    assert browser("POST", "/plans", json=PLAN, headers=SAME_SITE).status_code == 200
    assert browser("POST", "/sign-out", headers=SAME_SITE).status_code == 204
    assert SESSION not in browser.cookies
    assert browser("GET", "/budget").status_code == 401
    acts = [(act, account) for act, account, _ in log_of(team)]
    assert ("sign-in", "ada") in acts and ("sign-out", "ada") in acts


def test_what_is_stored_opens_nothing(browsers: Browsers, fake: FakeProvider, team: Any) -> None:
    browser = browsers()
    location = browser("GET", "/sign-in").headers["location"]
    flow = browser.cookies[FLOW]
    state = parse_qs(urlsplit(location).query)["state"][0]
    with team.desk._state.transaction(write=False) as connection:
        rows = [str(row) for table in ("flows", "sessions") for row in connection.execute(f"SELECT * FROM {table}")]
    assert len(rows) == 1 and not any(secret in row for secret in (flow, state) for row in rows)
    browser("GET", callback(fake.sign_in(location)))
    with team.desk._state.transaction(write=False) as connection:
        rows = [str(row) for table in ("flows", "sessions") for row in connection.execute(f"SELECT * FROM {table}")]
    assert len(rows) == 1 and browser.cookies[SESSION] not in rows[0]


OTHER_SITES: list[Any] = [
    {},
    {"Discreet-Request": "1"},
    {"Origin": "https://desk.example"},
    {"Discreet-Request": "1", "Origin": "https://evil.example"},
    {"Discreet-Request": "1", "Origin": "null"},
    {"Discreet-Request": "1", "Origin": "http://desk.example"},
    {"Discreet-Request": "1", "Origin": "https://desk.example.evil.example"},
    {"Discreet-Request": "1", "Origin": "https://desk.example:444"},
    {"Discreet-Request": "0", "Origin": "https://desk.example"},
    {"Discreet-Request": "1", "Referer": "https://desk.example/"},
]


def test_another_site_cannot_ask(browsers: Browsers, fake: FakeProvider, team: Any) -> None:
    for headers in OTHER_SITES:
        browser = browsers()
        sign_in(browser, fake)
        paid = {**PLAN, "max_price": {"epsilon": 1}}
        key = {"Idempotency-Key": "k"}
        for method, path, more in (
            ("POST", "/answers", {"json": paid, "headers": {**headers, **key}}),
            ("POST", "/plans", {"json": PLAN, "headers": headers}),
            ("DELETE", "/answers/x", {"headers": headers}),
            ("POST", "/requests", {"json": {"spend": {"epsilon": 1}}, "headers": headers}),
            ("POST", "/verify", {"content": b"x", "headers": headers}),
            ("POST", "/sign-out", {"headers": headers}),
        ):
            assert browser(method, path, **more).status_code == 403, path
        assert browser("GET", "/budget").json()["spent"] == {"kind": "pure", "epsilon": "0"}
        assert any(data.get("kind") == "role" and account == "ada" for _, account, data in log_of(team))


def test_nothing_that_changes_is_a_get(browsers: Browsers, fake: FakeProvider, team: Any) -> None:
    """No GET charges, decides or signs out, so that a link of another site does nothing."""
    browser = browsers()
    sign_in(browser, fake)
    before = team.desk.owner().ledger.head
    schema = browser("GET", "/openapi.json").json()["paths"]
    gets = [path for path, methods in schema.items() if "get" in methods and "sign-in" not in path]
    assert len(gets) > 10
    for path in gets:
        browser("GET", path.removeprefix("/v1").replace("{plan_hash}", "x"))
    assert team.desk.owner().ledger.head == before
    assert browser("GET", "/budget").status_code == 200


def test_a_program_needs_no_header_of_a_page(browsers: Browsers, fake: FakeProvider, team: Any) -> None:
    browser = browsers()
    headers = {"Authorization": f"Bearer {fake.token()}"}
    assert browser("POST", "/plans", json=PLAN, headers=headers).status_code == 200
    assert browser("POST", "/plans", json=PLAN, auth=("ada", team.tokens["ada"])).status_code == 200


def test_a_bad_header_is_not_made_good_by_a_session(browsers: Browsers, fake: FakeProvider) -> None:
    browser = browsers()
    sign_in(browser, fake)
    for authorization in ("Bearer x.y.z", "Basic eDp5", "Session x", ""):
        assert browser("GET", "/budget", headers={"Authorization": authorization}).status_code == 401
    assert browser("GET", "/budget").status_code == 200


def test_a_session_is_no_header(browsers: Browsers, fake: FakeProvider) -> None:
    """A session that has ended, or is used from elsewhere, is no better in another place."""
    browser = browsers()
    sign_in(browser, fake)
    secret = browser.cookies[SESSION]
    assert browser("GET", "/budget").status_code == 200
    for scheme in ("session", "Session", "Bearer", "header session", "Cookie"):
        assert browser("GET", "/budget", headers={"Authorization": f"{scheme} {secret}"}).status_code == 401


def test_a_form_of_another_site_is_no_question(browsers: Browsers, team: Any) -> None:
    """A browser may send remembered Basic credentials with a form, whose body cannot be application/json."""
    body = b'{"query": "SELECT COUNT(*) AS n FROM visits", "spend": {"epsilon": "0.5"}}'
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        headers = {"Content-Type": content_type}
        response = browsers()("POST", "/plans", content=body, headers=headers, auth=("ada", team.tokens["ada"]))
        assert response.status_code == 422, content_type


def test_a_session_cannot_be_fixed_beforehand(browsers: Browsers, fake: FakeProvider) -> None:
    attacker, victim = browsers(), browsers()
    sign_in(attacker, fake)
    planted = attacker.cookies[SESSION]
    victim.client.cookies.set(SESSION, planted, domain="desk.example", path="/")
    fake.user = {"preferred_username": "ben"}
    sign_in(victim, fake)
    assert victim.cookies[SESSION] != planted
    assert attacker("GET", "/budget").status_code == 401  # and the planted one has ended
    made_up = browsers()
    made_up.client.cookies.set(SESSION, "0" * 48, domain="desk.example", path="/")
    assert made_up("GET", "/budget").status_code == 401
    again = victim.cookies[SESSION]
    sign_in(victim, fake)
    assert victim.cookies[SESSION] != again


def test_a_flow_belongs_to_the_browser_that_began_it(browsers: Browsers, fake: FakeProvider, team: Any) -> None:
    attacker, victim = browsers(), browsers()
    answer = fake.sign_in(attacker("GET", "/sign-in").headers["location"])
    assert victim("GET", callback(answer)).status_code == 401  # without a flow of its own
    assert SESSION not in victim.cookies
    answer = fake.sign_in(attacker("GET", "/sign-in").headers["location"])
    victim("GET", "/sign-in")
    assert victim("GET", callback(answer)).status_code == 401  # with another one
    assert SESSION not in victim.cookies
    assert attacker("GET", callback(answer)).status_code == 401  # and it ended with that
    assert {data.get("reason") for act, _, data in log_of(team) if act == "refusal"} == {"state"}
    assert fake.asked.count("/token") == 0


def test_a_code_of_another_flow(browsers: Browsers, fake: FakeProvider) -> None:
    """The code that an attacker got for themselves, put into a victim's flow: PKCE and the nonce are the victim's."""
    attacker, victim = browsers(), browsers()
    theirs = fake.sign_in(attacker("GET", "/sign-in").headers["location"])
    mine = fake.sign_in(victim("GET", "/sign-in").headers["location"])
    assert victim("GET", callback({**mine, "code": theirs["code"]})).status_code == 401
    assert SESSION not in victim.cookies
    # a provider that checks no verifier: the nonce still tells
    theirs = fake.sign_in(attacker("GET", "/sign-in").headers["location"])
    mine = fake.sign_in(victim("GET", "/sign-in").headers["location"])
    fake.challenges[theirs["code"]] = fake.challenges[mine["code"]]
    assert victim("GET", callback({**mine, "code": theirs["code"]})).status_code == 401
    assert SESSION not in victim.cookies


def test_a_code_is_good_once(browsers: Browsers, fake: FakeProvider) -> None:
    browser = browsers()
    location = browser("GET", "/sign-in").headers["location"]
    flow = browser.cookies[FLOW]
    answer = fake.sign_in(location)
    assert browser("GET", callback(answer)).status_code == 200
    session = browser.cookies[SESSION]
    browser.client.cookies.set(FLOW, flow, domain="desk.example", path="/")
    assert browser("GET", callback(answer)).status_code == 401
    assert fake.asked.count("/token") == 1
    assert browser.cookies[SESSION] == session


BAD_ANSWERS: list[Any] = [
    {"state": ""},
    {"state": "0" * 48},
    {"state": None},
    {"code": ""},
    {"code": None},
    {"code": "x" * 5_000},
    {"code": "another"},
    {"error": "access_denied", "error_description": "<script>alert(1)</script>"},
    {"iss": "https://elsewhere.example"},
]


def test_answers_of_the_provider_that_are_not_good(browsers: Browsers, fake: FakeProvider) -> None:
    for other in BAD_ANSWERS:
        browser = browsers()
        answer = {**fake.sign_in(browser("GET", "/sign-in").headers["location"]), **other}
        response = browser("GET", callback({name: value for name, value in answer.items() if value is not None}))
        assert response.status_code == 401
        assert response.headers["content-type"] == "application/problem+json"
        assert "script" not in response.text and SESSION not in browser.cookies


def test_a_parameter_twice(browsers: Browsers, fake: FakeProvider) -> None:
    browser = browsers()
    answer = fake.sign_in(browser("GET", "/sign-in").headers["location"])
    assert browser("GET", f"{callback(answer)}&code=another").status_code == 422
    assert SESSION not in browser.cookies


BAD_CLAIMS: list[Any] = [
    {"nonce": "another"},
    {"nonce": None},
    {"aud": "another"},
    {"aud": ["discreet", "another"]},
    {"aud": ["discreet", "another"], "azp": "another"},
    {"azp": "another"},
    {"iss": "https://elsewhere.example"},
    {"exp": 1},
    {"preferred_username": "nobody"},
    {"preferred_username": ""},
    {"preferred_username": "owner"},
]


def test_identity_tokens_that_are_not_good(browsers: Browsers, fake: FakeProvider) -> None:
    for claims in BAD_CLAIMS:
        browser = browsers()
        answer = fake.sign_in(browser("GET", "/sign-in").headers["location"])
        changed = {**fake.claims_of_code[answer["code"]], **claims}
        fake.claims_of_code[answer["code"]] = {name: value for name, value in changed.items() if value is not None}
        assert browser("GET", callback(answer)).status_code == 401
        assert SESSION not in browser.cookies


ELSEWHERE: list[Any] = ["?next=https://evil.example", "?redirect_uri=https://evil.example", "?return_to=//e"]


def test_an_identity_token_may_have_many_groups(browsers: Browsers, fake: FakeProvider) -> None:
    """More than a header has room for; a bearer token may not."""
    fake.user = {"preferred_username": "ada", "groups": [f"group-{number:032}" for number in range(300)]}
    browser = browsers()
    assert len(fake.token()) > 8_192
    assert sign_in(browser, fake).status_code == 200
    assert browser("GET", "/budget", headers={"Authorization": f"Bearer {fake.token()}"}).status_code == 401


def test_there_is_no_way_to_elsewhere(browsers: Browsers, fake: FakeProvider) -> None:
    for query in ELSEWHERE:
        browser = browsers()
        headers = {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example"}
        response = browser("GET", f"/sign-in{query}", headers=headers)
        assert response.headers["location"].startswith(f"{fake.issuer}/authorize?")
        assert "evil" not in response.headers["location"]
        browser = browsers()
        answer = fake.sign_in(browser("GET", "/sign-in").headers["location"])
        done = browser("GET", f"{callback(answer)}&{query[1:]}", headers={"X-Forwarded-Host": "evil.example"})
        assert done.status_code == 200 and "location" not in done.headers and "evil" not in done.text


def test_flows_and_sessions_end() -> None:
    now = [0.0]
    sign_ins = BrowserSignIns(State(None), lambda: now[0])
    flow, browser = sign_ins.begin_flow()
    secret = sign_ins.begin_session("ada")
    now[0] = 599
    assert sign_ins.end_flow(flow, browser) and not sign_ins.end_flow(flow, browser)
    flow, browser = sign_ins.begin_flow()
    now[0] += 601
    assert not sign_ins.end_flow(flow, browser)
    now[0] = 8 * 3600 - 1
    assert sign_ins.account_of(secret) == "ada"
    now[0] += 2
    assert sign_ins.account_of(secret) is None


def test_a_client_with_a_secret(browsers: Browsers, fake: FakeProvider) -> None:
    fake.secret = "p%C3%A4ss"  # what the form encoding of "päss" is
    assert sign_in(browsers(client_secret="päss"), fake).status_code == 200
    assert sign_in(browsers(client_secret="other"), fake).status_code == 401
    assert sign_in(browsers(), fake).status_code == 401


def test_a_provider_that_names_itself_does_so_always(browsers: Browsers, fake: FakeProvider) -> None:
    fake.more = {"authorization_response_iss_parameter_supported": True}
    browser = browsers()
    answer = fake.sign_in(browser("GET", "/sign-in").headers["location"])
    assert browser("GET", callback(answer)).status_code == 401
    answer = fake.sign_in(browser("GET", "/sign-in").headers["location"])
    assert browser("GET", callback({**answer, "iss": fake.issuer})).status_code == 200


def test_bearer_tokens_at_the_api(browsers: Browsers, fake: FakeProvider, team: Any) -> None:
    browser = browsers()
    token = fake.token()
    for _ in range(3):
        assert browser("GET", "/budget", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    assert [data["by"] for act, _, data in log_of(team) if act == "sign-in"].count("oidc") == 1
    bad = fake.token(aud="another")
    response = browser("GET", "/budget", headers={"Authorization": f"Bearer {bad}"})
    assert response.status_code == 401 and "audience" not in response.text
    assert log_of(team)[-1] == ("refusal", "", {"asked": "sign-in", "kind": "sign-in", "reason": "audience"})
    nobody = fake.token(preferred_username="nobody")
    assert browser("GET", "/budget", headers={"Authorization": f"Bearer {nobody}"}).status_code == 401
    officer = fake.token(preferred_username="officer")
    assert browser("GET", "/audit/head", headers={"Authorization": f"Bearer {officer}"}).status_code == 200


def test_a_token_is_not_good_after_it_has_ended(browsers: Browsers, fake: FakeProvider) -> None:
    """A caller is remembered no longer than the token that it was known by."""
    browser = browsers(leeway=0)
    until = time.time() + 1
    headers = {"Authorization": f"Bearer {fake.token(exp=until)}"}
    assert browser("GET", "/budget", headers=headers).status_code == 200
    assert browser("GET", "/budget", headers=headers).status_code == 200
    time.sleep(max(0.0, until - time.time() + 0.01))
    assert browser("GET", "/budget", headers=headers).status_code == 401


def test_a_revoked_account_is_opened_by_nobody(browsers: Browsers, fake: FakeProvider, team: Any) -> None:
    browser = browsers()
    sign_in(browser, fake)
    headers = {"Authorization": f"Bearer {fake.token()}"}
    assert browser("GET", "/budget", headers=headers).status_code == 200
    team.desk.owner().freeze("ada")
    assert browser("GET", "/budget", headers=headers).status_code == 200  # a frozen one reads what it has
    team.desk.owner().thaw("ada")
    team.desk.owner().revoke("ada")
    for _ in range(2):
        assert browser("GET", "/budget", headers=headers).status_code == 401
        assert browser("GET", "/budget").status_code == 401
    officer = {"Authorization": f"Bearer {fake.token(preferred_username='officer')}"}
    assert browser("GET", "/audit/head", headers=officer).status_code == 200
    team.desk.owner().revoke("officer")
    assert browser("GET", "/audit/head", headers=officer).status_code == 401


def test_a_provider_that_is_away(browsers: Browsers, fake: FakeProvider) -> None:
    fake.spoiled["/.well-known/openid-configuration"] = 503, {}, b""
    browser = browsers()
    assert browser("GET", "/sign-in").status_code == 401
    assert browser("GET", "/budget", headers={"Authorization": f"Bearer {fake.token()}"}).status_code == 401


def test_without_a_public_url_no_browser_signs_in(browsers: Browsers, fake: FakeProvider) -> None:
    browser = browsers(public_url=None)
    assert browser("GET", "/sign-in").status_code == 404
    assert browser("GET", "/sign-in/callback").status_code == 404
    assert browser("POST", "/sign-out").status_code == 404
    assert browser("GET", "/budget", headers={"Authorization": f"Bearer {fake.token()}"}).status_code == 200
