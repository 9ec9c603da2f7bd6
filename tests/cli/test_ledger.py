"""`discreet ledger`: what its owner decides, and what the commands say of it."""

from __future__ import annotations

import json
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import LedgerError, ParameterError
from discreet.ledger import check_opening, open_ledger
from discreet.ledger.sqlite import _sqlite
from discreet.privacy import approx, pure

COUNT = "SELECT COUNT(*) AS n FROM visits"
DATA = ("--data", "visits.parquet", "--policy", "visits.toml", "--ledger", "b.ledger")

pytestmark = pytest.mark.usefixtures("one_database")


@pytest.fixture
def made(cli: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command line, with a ledger of (3, 1e-3) at b.ledger and no secrets in the environment."""
    for name in ("DISCREET_TOKEN", "DISCREET_LEDGER_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    assert cli("ledger", "create", "b.ledger", "--epsilon", "3", "--delta", "1e-3").code == 0
    return cli


def grant(cli: Any, name: str, *arguments: str) -> str:
    done = cli("ledger", "grant", "b.ledger", name, *arguments)
    assert done.code == 0, done.err
    return done.out.strip()


def test_a_ledger_is_made_and_never_made_again(made: Any) -> None:
    before = Path("b.ledger").read_bytes()
    again = made("ledger", "create", "b.ledger", "--epsilon", "3", "--delta", "1e-3")
    assert (again.code, again.out) == (4, "")
    assert "exists and is left as it is" in again.err
    assert Path("b.ledger").read_bytes() == before


def test_what_is_said_at_its_making_is_kept(cli: Any) -> None:
    done = cli(
        "ledger", "create", "c.ledger", "--rho", "0.5", "--every", "quarter", "--until", "2100-01-01",
        "--people", "patients", "--relation", "add_remove", "--part", "north", "--part", "south",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    assert "rho 0.5 for each quarter, until 2100-01-01 00:00 UTC" in done.out
    told = cli("ledger", "show", "c.ledger", "--format", "json").json
    assert (told["people"], told["relation"], told["parts"]) == ("patients", "add_remove", ["north", "south"])
    assert (told["whole"]["every"], told["whole"]["until"]) == ("quarter", "2100-01-01T00:00:00+00:00")
    assert told["public_key"] in done.out


def test_a_ledger_of_edges_refuses_what_is_about_people(cli: Any) -> None:
    assert cli("ledger", "create", "e.ledger", "--epsilon", "3", "--delta", "1e-3", "--counts", "edges").code == 0
    assert cli("ledger", "show", "e.ledger", "--format", "json").json["counts"] == "edges"
    assert "losses of single edges" in cli("ledger", "show", "e.ledger").out
    asked = cli("query", COUNT, *DATA[:-1], "e.ledger", "--epsilon", "1")
    assert asked.code != 0 and "losses of edges, and a policy is about people" in " ".join(asked.err.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "--epsilon E"),
        (("--epsilon", "1", "--rho", "1"), "one currency"),
        (("--epsilon", "0"), "greater than 0"),
        (("--epsilon", "1", "--every", "fortnight"), "quarter"),
        (("--epsilon", "1", "--until", "soon"), "--until is a day"),
        (("--epsilon", "1", "--until", "2027-01-01T12:00"), "write 2027-01-01T12:00Z"),
        (("--epsilon", "1", "--until", "9999-12-31T23:59-10:00"), "--until is a day"),
        (("--epsilon", "1", "--relation", "sibling"), "add_remove or substitute"),
        (("--epsilon", "1", "--counts", "nodes"), "people, edges, arcs or events"),
        (("--epsilon", "1", "--part", "north"), "add_remove"),
        (("--epsilon", "1", "--relation", "add_remove", "--part", "a", "--part", "a"), "distinct names"),
        (("--epsilon", "1", "--key-file", "nowhere/key"), "nowhere/key: No such file"),
        (("--epsilon", "1", "--key-file", "visits.toml"), "64 hexadecimal digits"),
    ],
)
def test_what_makes_no_ledger_is_said(cli: Any, arguments: tuple[str, ...], words: str) -> None:
    done = cli("ledger", "create", "c.ledger", *arguments)
    assert (done.code, done.out) == (2, "")
    assert words in " ".join(re.sub("[│╭╮╰╯─]", " ", done.err).split())
    assert not Path("c.ledger").exists()


def test_where_no_ledger_is_the_way_to_one_is_told(cli: Any) -> None:
    for words in (("show",), ("check",), ("export",), ("grant", "ada", "--epsilon", "1"), ("freeze",)):
        done = cli("ledger", words[0], "none.ledger", *words[1:])
        assert (done.code, done.out) == (4, "")
        assert "discreet ledger create none.ledger" in done.err
    assert not Path("none.ledger").exists()
    asked = cli.ask(COUNT, "--epsilon", "0.1", "--account", "ada", ledger="none.ledger")
    assert asked.code == 4
    assert not Path("none.ledger").exists()


def test_an_analyst_spends_from_their_account_and_sees_it_alone(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    token = grant(made, "ada", "--epsilon", "0.5")
    grant(made, "ben", "--epsilon", "1.25", "--no-token")
    assert re.fullmatch(r"[0-9a-f]{48}", token)
    Path("ada.token").write_text(token + "\n")
    ada = ("--account", "ada", "--token-file", "ada.token")
    first = made("query", COUNT, *DATA, "--epsilon", "0.25", "--format", "json", *ada)
    assert first.json["remaining"] == {"kind": "approx", "epsilon": "1/4", "delta": "0"}
    assert made("query", COUNT, *DATA, "--epsilon", "0.25", "--format", "json", *ada).json == first.json
    monkeypatch.setenv("DISCREET_TOKEN", token)
    assert "this fits the account" in made("plan", COUNT, *DATA, "--epsilon", "0.125", "--account", "ada").out
    assert "this does not fit" in made("plan", COUNT, *DATA, "--epsilon", "0.3", "--account", "ada").out
    over = made("query", COUNT, *DATA, "--epsilon", "0.3", "--account", "ada")
    assert over.code == 3
    spent = made("budget", "--ledger", "b.ledger", "--format", "json", "--account", "ada").json
    assert (spent["account"], spent["spent"]["epsilon"], spent["releases"]) == ("ada", "1/4", 1)
    seen = made("ledger", "show", "b.ledger", "--account", "ada")
    told = made("ledger", "show", "b.ledger", "--account", "ada", "--format", "json")
    assert "at most epsilon 0.25, delta 0 through this account:" in seen.out
    for text in (seen.out, told.out):
        assert "ben" not in text
        assert "(whole)" not in text
        assert "5/4" not in text
    assert [each["kind"] for each in told.json["entries"]] == ["release", "reserve", "grant"]
    assert not {"head", "length", "whole", "accounts", "history"} & set(told.json)
    assert not {"seq", "spent", "hash", "previous"} & set(told.json["entries"][0])
    for command in ("check", "export"):
        refused = made("ledger", command, "b.ledger", "--account", "ada")
        assert (refused.code, refused.out) == (4, "")
        assert "analyst's" in refused.err


def test_a_wrong_token_opens_nothing(made: Any) -> None:
    grant(made, "ada", "--epsilon", "0.5")
    Path("wrong").write_text("0" * 48)
    for words in (
        ("query", COUNT, *DATA, "--epsilon", "0.1"),
        ("plan", COUNT, "--policy", "visits.toml", "--ledger", "b.ledger"),
        ("suggest", "visits", "cost", *DATA, "--epsilon", "0.1"),
        ("budget", "--ledger", "b.ledger"),
        ("ledger", "show", "b.ledger"),
        ("ledger", "export", "b.ledger"),
    ):
        for token in (("--token-file", "wrong"), ()):
            done = made(*words, "--account", "ada", *token)
            assert (done.code, done.out) == (4, "")
            assert re.search("opens with(out a| this) token", done.err)
    with open_ledger("b.ledger") as ledger:
        assert ledger.head.seq == 1


def test_tokens_are_written_for_their_owner_alone(made: Any) -> None:
    assert grant(made, "ada", "--epsilon", "1", "--token-file", "ada.token") == ""
    assert Path("ada.token").stat().st_mode & 0o777 == 0o600
    token = Path("ada.token").read_text().strip()
    with open_ledger("b.ledger") as ledger:
        assert ledger.open_account("ada", token).remaining == approx(1, 0)
    for command in (("grant", "--epsilon", "1"), ("rotate",)):
        again = made("ledger", command[0], "b.ledger", "ada", *command[1:], "--token-file", "ada.token")
        assert (again.code, Path("ada.token").read_text().strip()) == (2, token)
    failed = made("ledger", "grant", "b.ledger", "no spaces", "--epsilon", "1", "--token-file", "new.token")
    assert failed.code == 2
    assert not Path("new.token").exists()
    assert made("ledger", "show", "b.ledger", "--token-file", "ada.token").code == 2


def test_granting_again_changes_what_is_named_alone(made: Any) -> None:
    token = grant(made, "ada", "--epsilon", "0.5", "--every", "month", "--until", "2100-01-01")
    changes = [
        (("--epsilon", "1"), "ada may spend epsilon 1, delta 0 in each month, until 2100-01-01 00:00 UTC."),
        (("--every", "none"), "ada may spend epsilon 1, delta 0, until 2100-01-01 00:00 UTC."),
        (("--until", "never"), "ada may spend epsilon 1, delta 0."),
        (("--every", "week"), "ada may spend epsilon 1, delta 0 in each week."),
        ((), "ada may spend epsilon 1, delta 0 in each week."),
    ]
    for arguments, words in changes:
        done = made("ledger", "grant", "b.ledger", "ada", *arguments)
        assert (done.code, done.out, done.err.strip()) == (0, "", f"{words} Its token stays as it is.")
        with open_ledger("b.ledger") as ledger:
            ledger.open_account("ada", token)
    assert "no token" in made("ledger", "grant", "b.ledger", "ada", "--no-token").err
    with open_ledger("b.ledger") as ledger:
        assert ledger.open_account("ada").remaining == approx(1, 0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--role", "auditor"), "role and the part"),
        (("--part", "north"), "role and the part"),
        (("--token-file", "t"), "discreet ledger rotate"),
        (("--every", "fortnight"), "quarter"),
        (("--until", "soon"), "--until is a day"),
        (("--rho", "1"), "kept in (epsilon, delta)"),
    ],
)
def test_what_cannot_be_changed_is_said(made: Any, arguments: tuple[str, ...], words: str) -> None:
    grant(made, "ada", "--epsilon", "0.5")
    with open_ledger("b.ledger") as ledger:
        before = ledger.accounts["ada"]
    done = made("ledger", "grant", "b.ledger", "ada", *arguments)
    assert (done.code, done.out) == (2, "")
    assert words in " ".join(done.err.split())
    with open_ledger("b.ledger") as ledger:
        assert ledger.accounts["ada"] == before
    assert not Path("t").exists()


def test_no_other_word_takes_a_token_away(made: Any) -> None:
    token = grant(made, "ada", "--epsilon", "0.5")
    with open_ledger("b.ledger") as ledger:
        for wrong in (True, "x", 0, 1):
            with pytest.raises(ParameterError, match="rotate"):
                ledger.amend("ada", token=wrong)  # type: ignore[arg-type]
        ledger.open_account("ada", token)
        with pytest.raises(LedgerError, match=r"opens with(out a| this) token"):
            ledger.open_account("ada")


def test_a_token_is_replaced_and_an_account_taken_away(made: Any) -> None:
    first = grant(made, "ada", "--epsilon", "0.5", "--every", "month")
    second = made("ledger", "rotate", "b.ledger", "ada").out.strip()
    with open_ledger("b.ledger") as ledger:
        assert ledger.open_account("ada", second).remaining == approx(0.5, 0)
        assert ledger.accounts["ada"].every == "month"
        with pytest.raises(LedgerError, match=r"opens with(out a| this) token"):
            ledger.open_account("ada", first)
    assert made("ledger", "revoke", "b.ledger", "ada").code == 0
    with open_ledger("b.ledger") as ledger:
        for token in (first, second, None):
            with pytest.raises(LedgerError, match=r"opens with(out a| this) token"):
                ledger.open_account("ada", token)
        assert ledger.accounts["ada"].frozen
        ledger.verify()
    third = made("ledger", "rotate", "b.ledger", "ada", "--token-file", "ada.token")
    assert (third.code, third.out, made("ledger", "thaw", "b.ledger", "ada").code) == (0, "", 0)
    with open_ledger("b.ledger") as ledger:
        ada = ledger.open_account("ada", Path("ada.token").read_text().strip())
        ada.reserve("q", pure("1/4"))
    for command in ("rotate", "revoke"):
        assert "has no account 'eve'" in made("ledger", command, "b.ledger", "eve").err


def test_a_ledger_of_pure_epsilon_says_what_it_cannot_take(cli: Any) -> None:
    assert "takes no GROUP BY over private keys" in cli("ledger", "create", "p.ledger", "--epsilon", "3").err
    assert cli("ledger", "create", "a.ledger", "--epsilon", "3", "--delta", "1e-6").err == ""
    assert cli("ledger", "create", "r.ledger", "--rho", "3").err == ""


def test_caps_that_add_up_to_more_than_the_whole_are_said(made: Any) -> None:
    assert "add up" not in made("ledger", "grant", "b.ledger", "ada", "--epsilon", "2").err
    done = made("ledger", "grant", "b.ledger", "ben", "--epsilon", "1.5")
    assert "more than the whole budget of epsilon 3, delta 0.001: whoever comes first spends it" in done.err
    assert "add up" not in made("ledger", "grant", "b.ledger", "ben", "--epsilon", "1").err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ada",), "--epsilon E"),
        (("ada", "--role", "auditor", "--epsilon", "1"), "an auditor has none"),
        (("ada", "--role", "owner", "--epsilon", "1"), "analyst or auditor"),
        (("ada", "--rho", "1"), "kept in (epsilon, delta)"),
        (("ada", "--epsilon", "1", "--no-token", "--token-file", "t"), "leave one of them out"),
    ],
)
def test_what_cannot_be_granted_is_said(made: Any, arguments: tuple[str, ...], words: str) -> None:
    done = made("ledger", "grant", "b.ledger", *arguments)
    assert (done.code, done.out) == (2, "")
    assert words in done.err


def test_freezing_thawing_renewing_and_giving(made: Any) -> None:
    for name in ("ada", "ben"):
        grant(made, name, "--epsilon", "1", "--no-token")
    ask = ("query", COUNT, *DATA, "--epsilon", "0.5", "--account", "ada")
    assert made(*ask).code == 0
    assert "is frozen" in made("ledger", "freeze", "b.ledger", "ada").out
    assert "frozen" in made("ledger", "show", "b.ledger").out
    assert made(*ask).code == 0  # what is stored stays free
    other = ("query", COUNT, *DATA, "--epsilon", "0.25", "--account", "ada")
    assert "thaw" in made(*other).err
    assert "frozen" in made("plan", COUNT, *DATA, "--epsilon", "0.25", "--account", "ada").out
    assert "epsilon 0.5, delta 0 is left" in made("ledger", "thaw", "b.ledger", "ada").out
    moved = made("ledger", "transfer", "b.ledger", "ada", "ben", "--epsilon", "0.25")
    assert moved.out == "ada has epsilon 0.25, delta 0 left, ben has epsilon 1.25, delta 0.\n"
    assert made("ledger", "transfer", "b.ledger", "ada", "ben", "--epsilon", "0.5").code == 3
    assert made("ledger", "transfer", "b.ledger", "ada", "ben").code == 2
    renewed = made("ledger", "renew", "b.ledger", "ada", "--epsilon", "2")
    assert "window 2, with epsilon 2, delta 0; in the windows before it spent epsilon 0.5" in renewed.out
    assert "the whole ledger is frozen" in made("ledger", "freeze", "b.ledger").out
    assert made(*other).code == 4
    assert made("ledger", "thaw", "b.ledger").code == 0
    for command in ("freeze", "thaw", "renew"):
        assert made("ledger", command, "b.ledger", "").code == 2
        unknown = made("ledger", command, "b.ledger", "eve")
        assert (unknown.code, unknown.out) == (4, "")
        assert "no account 'eve'" in unknown.err


def test_an_encrypted_ledger_needs_its_key(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    done = cli("ledger", "create", "b.ledger", "--epsilon", "3", "--delta", "1e-3", "--key-file", "b.key")
    assert done.code == 0
    assert "Keep a copy elsewhere" in done.err
    assert Path("b.key").stat().st_mode & 0o777 == 0o600
    ask = ("query", COUNT, *DATA, "--epsilon", "0.5", "--format", "json")
    first = cli(*ask, "--key-file", "b.key")
    assert first.code == 0
    locked = cli(*ask)
    assert locked.code == 4
    assert "key" in locked.err
    monkeypatch.setenv("DISCREET_LEDGER_KEY_FILE", "b.key")
    assert cli(*ask).json == first.json
    assert cli("suggest", "visits", "cost", *DATA, "--epsilon", "0.5").code == 0
    Path("other.key").write_text("00" * 32)
    assert cli(*ask, "--key-file", "other.key").code == 4
    assert cli(*ask, "--key-file", "none.key").code == 2
    assert "encrypted" in cli("ledger", "show", "b.ledger").out


def test_a_request_is_paid_once(made: Any) -> None:
    ask = ("query", COUNT, *DATA, "--epsilon", "0.5", "--format", "json", "--idempotency-key", "request-1")
    assert made(*ask).json == made(*ask).json
    other = made("query", COUNT, *DATA, "--epsilon", "0.25", "--idempotency-key", "request-1")
    assert other.code == 4
    assert "used for another request" in other.err
    assert made("query", COUNT, *DATA, "--epsilon", "0.25", "--idempotency-key", "two words").code == 2
    bought = ("suggest", "visits", "cost", *DATA, "--epsilon", "0.5", "--idempotency-key", "request-2")
    assert made(*bought).out == made(*bought).out
    with open_ledger("b.ledger") as ledger:
        assert ledger.spent == approx(1, 0)


def test_a_check_finds_what_an_anchor_shows(made: Any) -> None:
    head = ("--write-head", "noted.json")
    blind = made("ledger", "check", "b.ledger")
    assert blind.code == 0
    assert "nobody can know whether its end was cut off" in blind.out
    old = Path("b.ledger").read_bytes()
    saved = ("--save", "saved.release")
    printed = made("query", COUNT, *DATA, "--epsilon", "0.5", "--format", "json", *saved)
    assert printed.code == 0
    Path("printed.json").write_text(printed.out)
    good = made("ledger", "check", "b.ledger", *head)
    assert good.code == 0
    assert json.loads(Path("noted.json").read_text())["seq"] == 2
    held = made("ledger", "check", "b.ledger", "--anchor", "noted.json", "--format", "json")
    assert (held.json["entries"], held.json["anchors"]) == (3, 1)
    both = ("--anchor", "saved.release", "--anchor", "printed.json")
    assert made("ledger", "check", "b.ledger", *both, "--format", "json").json["anchors"] == 2
    Path("b.ledger").write_bytes(old)
    assert made("ledger", "check", "b.ledger").code == 0
    for anchor in (("--anchor", "noted.json"), both, both[2:], head):
        rolled = made("ledger", "check", "b.ledger", *anchor)
        assert (rolled.code, rolled.out) == (4, "")
        assert anchor[1] in rolled.err
    assert json.loads(Path("noted.json").read_text())["seq"] == 2  # a head that is missed stays noted


def test_an_anchor_is_a_head_or_a_release(made: Any) -> None:
    made("ledger", "create", "c.ledger", "--epsilon", "1")
    assert made("ledger", "check", "c.ledger", "--write-head", "c.json").code == 0
    other = made("ledger", "check", "b.ledger", "--anchor", "c.json")
    assert other.code == 4
    assert "another ledger" in other.err
    for text in ("", "{}", "[1]", '{"hash": 3}', "[" * 100_000, '{"hash": "00"}'):
        Path("odd").write_text(text)
        assert made("ledger", "check", "b.ledger", "--anchor", "odd").code == 2
    assert made("ledger", "check", "b.ledger", "--anchor", "missing").code == 2
    assert made("ledger", "check", "b.ledger", "--write-head", "no/where").code == 2


def test_an_edited_ledger_is_not_trusted(made: Any) -> None:
    import sqlite3

    made("query", COUNT, *DATA, "--epsilon", "0.5")
    with sqlite3.connect("b.ledger") as connection:
        connection.execute("DROP TRIGGER entries_no_update")
        connection.execute("UPDATE entries SET at = replace(at, '20', '19') WHERE seq = 1")
    connection.close()
    done = made("ledger", "check", "b.ledger", "--write-head", "head.json")
    assert (done.code, done.out) == (4, "")
    assert "entry 1 is bad" in done.err
    assert not Path("head.json").exists()
    assert made("ledger", "export", "b.ledger", "--output", "all.jsonl").code == 4
    assert not Path("all.jsonl").exists()


def test_an_export_has_every_entry_and_no_release(made: Any) -> None:
    token = grant(made, "officer", "--role", "auditor")
    Path("officer.token").write_text(token)
    officer = ("--account", "officer", "--token-file", "officer.token")
    with open_ledger("b.ledger") as ledger:
        reserved = ledger.reserve("plan", pure("0.5"), idempotency_key="=HYPERLINK(1)")
        ledger.commit(reserved, b"something private")
        wanted = [each.hash for each in ledger.entries()]
    lines = made("ledger", "export", "b.ledger", *officer).out.splitlines()
    assert [json.loads(line)["hash"] for line in lines] == wanted
    assert made("ledger", "export", "b.ledger", "--output", "all.csv", "--format", "csv", *officer).code == 0
    rows = [line.split(",") for line in Path("all.csv").read_text().splitlines()]
    assert [row[-1] for row in rows] == ["hash", *wanted]
    kept = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    assert [row["loss_epsilon"] for row in kept] == ["3", "", "1/2", "1/2"]
    assert kept[2]["idempotency_key"] == "'=HYPERLINK(1)"
    assert "private" not in Path("all.csv").read_text() + "".join(lines)
    assert made("ledger", "export", "b.ledger", "--output", "all.csv").code == 2
    assert made("ledger", "check", "b.ledger", *officer).code == 0
    assert "reads only" in made("ledger", "show", "b.ledger", *officer).out
    refused = made("query", COUNT, *DATA, "--epsilon", "0.1", *officer)
    assert refused.code == 4
    assert "auditor" in refused.err


def test_a_ledger_is_for_one_kind_of_neighbours(made: Any) -> None:
    assert made("ledger", "show", "b.ledger", "--format", "json").json["relation"] == "add_remove"
    policy = Path("visits.toml")
    policy.write_text('relation = "substitute"\n' + policy.read_text(encoding="utf-8"), encoding="utf-8")
    refused = made("query", COUNT, *DATA, "--epsilon", "0.5")
    assert refused.code == 4
    assert "by add_remove, and the policy is for substitute: their losses do not add up" in refused.err
    again = made("ledger", "settle", "b.ledger", "--relation", "substitute")
    assert (again.code, "never changes" in again.err) == (4, True)
    assert made("ledger", "settle", "b.ledger", "--relation", "sibling").code == 2


def test_an_owner_settles_an_older_ledger(made: Any) -> None:
    old = Path(__file__).parents[1] / "ledger" / "format_2.sqlite"
    for name, options, spent in (("one", ("add_remove",), "2.425"), ("two", ("substitute", "--mixed"), "4.85")):
        shutil.copy(old, name)
        done = made("ledger", "settle", name, "--relation", *options)
        assert (done.code, done.err) == (0, "")
        assert f"neighbours by {options[0]} from now on; epsilon {spent} is spent" in done.out
        assert made("ledger", "show", name, "--format", "json").json["relation"] == options[0]
        assert made("ledger", "check", name).code == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "Its budget of epsilon 3 is epsilon 3, delta 1e-06 from now on; epsilon 0.5, delta 0 is spent, and"),
        (
            ("--to", "rho"),
            "Its budget of epsilon 3 is rho 0.1757, delta 5e-07 from now on; rho 0.125 is spent, and rho 0",
        ),
    ],
    ids=["approx", "rho"],
)
def test_an_owner_lets_a_ledger_of_pure_epsilon_take_a_delta(cli: Any, options: Any, said: str) -> None:
    assert cli("ledger", "create", "p.ledger", "--epsilon", "3").code == 0
    assert cli("ledger", "grant", "p.ledger", "ada", "--epsilon", "0.5", "--token-file", "ada.token").code == 0
    as_ada = ("--account", "ada", "--token-file", "ada.token")
    assert cli("query", COUNT, *DATA[:-1], "p.ledger", "--epsilon", "0.5", *as_ada).code == 0
    shut = cli("ledger", "renew", "p.ledger", "--epsilon", "3", "--delta", "1e-6")
    assert (shut.code, "`discreet ledger convert LEDGER --delta 1e-6`" in shut.err) == (2, True)
    refused = cli("ledger", "convert", "p.ledger", "--delta", "2")
    assert (refused.code, "less than 1" in refused.err) == (2, True)
    done = cli("ledger", "convert", "p.ledger", "--delta", "1e-6", *options)
    assert done.code == 0
    assert said in done.out
    assert ("'ada' has spent its cap" in done.err) == bool(options)
    unit = options[-1] if options else "approx"
    shown = cli("ledger", "show", "p.ledger", "--format", "json").json
    assert (shown["currency"], shown["whole"]["cap"]["kind"]) == (unit, unit)
    assert cli("ledger", "show", "p.ledger", "--format", "json", *as_ada).json["currency"] == unit
    assert cli("ledger", "show", "p.ledger", "--plot", "p.svg").code == 0
    assert cli("ledger", "check", "p.ledger").code == 0
    again = cli("ledger", "convert", "p.ledger", "--delta", "1e-6")
    assert (again.code, "converted" in again.err) == (4, True)


def test_an_owner_opens_the_position_of_a_certificate(made: Any) -> None:
    assert made("query", COUNT, *DATA, "--epsilon", "0.5", "--save", "a.release").code == 0
    done = made("ledger", "prove", "b.ledger", "a.release")
    assert (done.code, done.err) == (0, "")
    position = made("verify", "a.release", "--ledger", "b.ledger", "--format", "json").json
    assert position["good"]
    entry = check_opening(done.json, done.json["hash"])
    assert (entry["kind"], entry["account"]) == ("reserve", "")
    token = grant(made, "ada", "--epsilon", "1")
    Path("ada.token").write_text(token, encoding="ascii")
    refused = made("ledger", "prove", "b.ledger", "a.release", "--account", "ada", "--token-file", "ada.token")
    assert (refused.code, "can open an entry" in refused.err) == (4, True)
    made("ledger", "create", "other.ledger", "--epsilon", "3")
    assert made("ledger", "prove", "other.ledger", "a.release").code == 4


def test_the_log_has_who_asked_what_when_and_for_how_much(made: Any) -> None:
    assert made("ledger", "grant", "b.ledger", "ada", "--epsilon", "1", "--token-file", "ada.token").code == 0
    as_ada = ("--account", "ada", "--token-file", "ada.token")
    assert made("query", COUNT, *DATA, "--epsilon", "0.5").code == 0
    other = "SELECT AVG(cost) AS c FROM visits"
    assert made("query", other, *DATA, "--epsilon", "0.25", *as_ada).code == 0
    with open_ledger("b.ledger") as ledger:
        ledger.reserve("plan-of-nobody", pure("0.125"))
    asked = made("ledger", "log", "b.ledger", "--format", "json").json["charges"]
    assert [(each["account"], each["answered"], each["loss"]["epsilon"]) for each in asked] == [
        ("", False, "1/8"), ("ada", True, "1/4"), ("", True, "1/2"),
    ]  # fmt: skip
    assert [each["question"] for each in asked] == [
        None, 'SELECT AVG("cost") AS "c" FROM "visits"', 'SELECT COUNT(*) AS "n" FROM "visits"',
    ]  # fmt: skip
    assert {(each["version"], len(each["policy"])) for each in asked[1:]} == {("1", 64)}
    shown = made("ledger", "log", "b.ledger", "--last", "2").out
    assert 'SELECT AVG("cost")' in shown and "no answer was stored" in shown and "COUNT" not in shown
    mine = made("ledger", "log", "b.ledger", "--format", "json", *as_ada).json["charges"]
    assert [(each["question"], each.get("seq")) for each in mine] == [(asked[1]["question"], None)]
    assert made("ledger", "grant", "b.ledger", "eve", "--role", "auditor", "--token-file", "eve.token").code == 0
    as_eve = ("--account", "eve", "--token-file", "eve.token", "--format", "json")
    audited = made("ledger", "log", "b.ledger", *as_eve).json["charges"]
    assert [(each["account"], each["question"]) for each in audited] == [
        (each["account"], each["question"]) for each in asked
    ]
    assert "values" not in str(audited) and "columns" not in str(audited)


def test_what_is_no_release_is_not_called_sealed(cli: Any) -> None:
    with open_ledger("g.ledger", pure(1)) as ledger:
        ledger.commit(ledger.reserve("plan", pure("0.5")), b"garbage")
    assert "not a release of discreet" in cli("ledger", "log", "g.ledger").out


def test_a_release_that_is_missing_hides_no_charge(cli: Any) -> None:
    with open_ledger("g.ledger", pure(1)) as ledger:
        ledger.commit(ledger.reserve("plan", pure("0.5")), bytes(2**24 + 1))
    shutil.rmtree("g.ledger.payloads")
    assert "epsilon 0.5" in (out := cli("ledger", "log", "g.ledger").out) and "damaged or missing" in out
    (charge,) = cli("ledger", "log", "g.ledger", "--format", "json").json["charges"]
    assert (charge["answered"], charge["damaged"]) == (True, True)
    assert cli("ledger", "check", "g.ledger").code == 4


def test_questions_of_an_encrypted_ledger_are_sealed(cli: Any) -> None:
    assert cli("ledger", "create", "k.ledger", "--epsilon", "3", "--delta", "1e-3", "--key-file", "k.key").code == 0
    key = ("--key-file", "k.key")
    assert cli("query", COUNT, *DATA[:-1], "k.ledger", "--epsilon", "0.5", *key).code == 0
    sealed, opened = (cli("ledger", "log", "k.ledger", *each).out for each in ((), key))
    assert "sealed: give the key" in sealed and "COUNT" not in sealed
    assert "COUNT(*)" in opened


def test_help_teaches(cli: Any) -> None:
    text = cli("ledger", "--help").out
    for command in (
        "create",
        "show",
        "log",
        "grant",
        "rotate",
        "revoke",
        "freeze",
        "thaw",
        "renew",
        "transfer",
        "convert",
        "settle",
        "check",
        "prove",
        "export",
    ):
        assert command in text
        assert "Examples" in cli("ledger", command, "--help").out


def test_a_server_keeps_a_ledger_and_its_password(cli: Any, postgres: str) -> None:
    url = f"{postgres}&ledger=cli" if "?" in postgres else f"{postgres}?ledger=cli"
    made = cli("ledger", "create", url, "--epsilon", "3", "--delta", "1e-3")
    assert made.code == 0, made.err
    assert "the ledger 'cli' at" in made.out
    assert cli("ledger", "create", url, "--epsilon", "3", "--delta", "1e-3").code == 4
    for name in ("ben", "ada"):
        assert cli("ledger", "grant", url, name, "--epsilon", "1", "--no-token").code == 0
    assert cli.ask(COUNT, "--epsilon", "0.5", "--account", "ada", ledger=url).code == 0
    told = cli("ledger", "show", url, "--format", "json", "--last", "2", "--plot", "left.svg").json
    assert (told["length"], told["whole"]["spent"]["epsilon"]) == (5, "1/2")
    assert [(each["name"], each["spent"]["epsilon"]) for each in told["accounts"]] == [("ada", "1/2"), ("ben", "0")]
    assert [each["kind"] for each in told["entries"]] == ["release", "reserve"]
    budget = cli("budget", "--ledger", url, "--account", "ada", "--format", "json").json
    assert (budget["releases"], budget["unanswered"]) == (1, 0)
    assert "(whole)" in Path("left.svg").read_text(encoding="utf-8")
    assert cli("ledger", "check", url, "--write-head", "head").code == 0
    gone = "postgresql://ada:hunter2@127.0.0.1:9/shop?ledger=cli"
    for words in (("create", gone, "--epsilon", "1"), ("show", gone)):
        refused = cli("ledger", *words)
        assert refused.code == 4
        assert "hunter2" not in refused.err


@pytest.mark.parametrize("name", ["", "a b", "\x1b[2J", "ada\n", "x" * 500, "\udcff", "-1", "(whole)"])
def test_odd_names_open_nothing(made: Any, name: str) -> None:
    for words in (("ledger", "show", "b.ledger"), ("budget", "--ledger", "b.ledger")):
        done = made(*words, f"--account={name}")
        assert (done.code, done.out) in ((2, ""), (4, ""))
        assert "\x1b" not in done.err
        assert "a bug" not in done.err
    assert made("ledger", "grant", "b.ledger", "--epsilon", "1", "--", name).code == 2


def test_odd_files_are_no_secrets_and_no_ledgers(made: Any) -> None:
    Path("folder").mkdir()
    Path("binary").write_bytes(bytes(range(256)) * 100)
    for odd in ("folder", "binary", "visits.parquet", "/dev/null"):
        assert made("ledger", "show", odd).code == 4
        assert made("ledger", "show", "b.ledger", "--key-file", odd).code == 2
        assert made("ledger", "check", "b.ledger", "--anchor", odd).code == 2
        assert made("ledger", "show", "b.ledger", "--account", "ada", "--token-file", odd).code in (2, 4)


def test_what_stands_is_told_at_the_time_that_the_ledger_has(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("ledger", "create", "d.ledger", "--epsilon", "1", "--until", "2100-01-01").code == 0
    with monkeypatch.context() as ahead, open_ledger("d.ledger") as ledger:
        ahead.setattr(_sqlite, "clock", lambda connection: datetime(2101, 1, 1, tzinfo=UTC))
        ledger.renew()
    for words in (("ledger", "show", "d.ledger"), ("budget", "--ledger", "d.ledger")):
        assert "ended" in cli(*words).out, words
    plan = cli("plan", COUNT, "--policy", "visits.toml", "--ledger", "d.ledger", "--epsilon", "0.5")
    assert "has ended on 2100-01-01" in plan.out
