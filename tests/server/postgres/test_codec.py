"""The messages of the PostgreSQL protocol: what a client writes is read, and whatever else comes is one error."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

import frontends
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.server.postgres.codec import backend, frontend
from discreet.server.postgres.codec.frontend import Message, ProtocolError
from discreet.server.postgres.codec.reader import (
    MAX_STARTUP,
    MAX_TEXT,
    MAX_VALUES,
    MessageReader,
    read_initial_response,
    read_password,
)

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
CODES = st.sampled_from([0, 1])


def reader(*, started: bool = True, signed_in: bool = True) -> MessageReader:
    made_ready = MessageReader()
    if started:
        made_ready.feed(frontends.startup(user="ada"))
        assert isinstance(made_ready.read(), frontend.Startup)
    if signed_in:
        made_ready.signed_in()
    return made_ready


def read(data: bytes, reading: MessageReader | None = None) -> Message | None:
    reading = reading or reader()
    reading.feed(data)
    return reading.read()


@given(st.dictionaries(TEXTS.filter(bool), TEXTS, max_size=5), st.integers(0, 9999))
def test_a_startup_packet_is_read(parameters: dict[str, str], minor: int) -> None:
    message = read(frontends.startup(minor, **parameters), MessageReader())
    assert message == frontend.Startup(minor, parameters)


@given(st.integers(-(2**31), 2**31 - 1), st.binary(min_size=4, max_size=256))
def test_a_request_to_cancel_is_read(process: int, key: bytes) -> None:
    assert read(frontends.cancel(process, key), MessageReader()) == frontend.CancelRequest(process, key)


def test_a_request_for_encryption_may_come_before_the_startup_packet() -> None:
    reading = MessageReader()
    assert read(frontends.GSS_REQUEST, reading) == frontend.EncryptionRequest("gss")
    assert read(frontends.SSL_REQUEST, reading) == frontend.EncryptionRequest("tls")
    assert read(frontends.startup(user="ada"), reading) == frontend.Startup(0, {"user": "ada"})


@given(TEXTS, TEXTS, st.lists(st.integers(0, 2**32 - 1), max_size=9), st.integers(-(2**31), 2**31 - 1))
def test_questions_are_read(name: str, text: str, types: list[int], rows: int) -> None:
    assert read(frontends.query(text)) == frontend.Query(text)
    assert read(frontends.parse(name, text, types)) == frontend.Parse(name, text, tuple(types))
    assert read(frontends.describe("S", name)) == frontend.Describe("S", name)
    assert read(frontends.close("P", name)) == frontend.Close("P", name)
    assert read(frontends.execute(name, rows)) == frontend.Execute(name, rows)


@given(TEXTS, TEXTS, st.lists(st.none() | st.binary(max_size=50), max_size=9), st.data())
def test_bound_values_are_read(portal: str, name: str, values: list[bytes | None], data: st.DataObject) -> None:
    formats = data.draw(
        st.one_of(st.lists(CODES, max_size=1), st.lists(CODES, min_size=len(values), max_size=len(values)))
    )
    results = data.draw(st.lists(CODES, max_size=5))
    message = read(frontends.bind(portal, name, formats, values, results))
    assert message == frontend.Bind(portal, name, tuple(formats), tuple(values), tuple(results))


@pytest.mark.parametrize("step", [1, 2, 3, 7])
def test_messages_are_read_however_they_are_cut(step: int) -> None:
    sent = [
        frontends.parse("s", "SELECT $1", [23]), frontends.bind("", "s", [1], [b"\0\0\0\1"]), frontends.execute(),
        frontends.SYNC, frontends.FLUSH, frontends.TERMINATE,
    ]  # fmt: skip
    stream, reading, seen = b"".join(sent), reader(), []
    for at in range(0, len(stream), step):
        reading.feed(stream[at : at + step])
        while (message := reading.read()) is not None:
            seen.append(message)
    signal = frontend.Signal
    assert seen == [*map(read, sent[:3]), signal.SYNC, signal.FLUSH, signal.TERMINATE]
    assert seen[0] == frontend.Parse("s", "SELECT $1", (23,))


@pytest.mark.parametrize(
    ("started", "signed_in", "header"),
    [
        (False, False, struct.pack("!i", MAX_STARTUP + 1)),
        (False, False, struct.pack("!I", 2**32 - 1)),
        (False, False, struct.pack("!i", 7)),
        (True, False, b"p" + struct.pack("!i", 20_000)),
        (True, False, b"Q" + struct.pack("!i", 20)),
        (True, True, b"Q" + struct.pack("!i", MAX_TEXT + 6)),
        (True, True, b"P" + struct.pack("!i", 900_000_000)),
        (True, True, b"B" + struct.pack("!i", MAX_VALUES + 5)),
        (True, True, b"S" + struct.pack("!i", 5)),
        (True, True, b"Q" + struct.pack("!i", 3)),
        (True, True, b"d" + struct.pack("!i", 4)),
        (True, True, b"c" + struct.pack("!i", 4)),
        (True, True, b"f" + struct.pack("!i", 5)),
        (True, True, b"p" + struct.pack("!i", 5)),
        (True, True, b"F" + struct.pack("!i", 9)),
    ],
)
def test_a_length_is_refused_before_anything_is_held_for_it(started: bool, signed_in: bool, header: bytes) -> None:
    with pytest.raises(ProtocolError):
        read(header, reader(started=started, signed_in=signed_in))


@pytest.mark.parametrize(
    "data",
    [
        frontends.framed(b"Q", b"SELECT 1"),
        frontends.framed(b"Q", b"SELECT 1\0;\0"),
        frontends.framed(b"Q", b"\xff\0"),
        frontends.framed(b"P", b"\0\0\0\2\0\0\0\1"),
        frontends.framed(b"P", b"\0\0\xff\xff"),
        frontends.framed(b"B", b"\0\0\0\0\xff\xff"),
        frontends.framed(b"B", b"\0\0\0\0\0\1\0\0\0\4ab"),
        frontends.framed(b"B", b"\0\0\0\0\0\1\xff\xff\xff\xfe\0\0"),
        frontends.framed(b"B", b"\0\0\0\1\0\2\0\0\0\0"),
        frontends.bind("", "", [0, 0], [b"1"]),
        frontends.describe("T", "x"),
        frontends.framed(b"D", b""),
        frontends.framed(b"E", b"\0\0\0"),
        frontends.framed(b"p", b"x\0"),
    ],
)
def test_a_message_that_is_not_what_it_claims_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError) as error:
        read(data)
    assert error.value.sqlstate == "08P01"


@pytest.mark.parametrize(
    "body",
    [
        struct.pack("!i", 2 << 16), struct.pack("!i", 3 << 16) + b"user\0ada\0", struct.pack("!i", 3 << 16) + b"user\0",
        struct.pack("!i", 3 << 16) + b"\0more", struct.pack("!ii", 80877103, 0),
        struct.pack("!ii", 80877102, 1) + b"key",
        struct.pack("!ii", 80877102, 1) + bytes(257), struct.pack("!i", 3 << 16) + b"\xff\0\0\0", struct.pack("!i", 0),
        struct.pack("!i", 3 << 16) + b"".join(b"%d\0\0" % i for i in range(101)) + b"\0",
    ],
)  # fmt: skip
def test_a_first_packet_that_is_none_is_refused(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        read(frontends.framed(b"", body), MessageReader())


def test_secrets_are_read_by_who_expects_them() -> None:
    signing_in = reader(signed_in=False)
    message = read(frontends.secret(b"SCRAM-SHA-256\0\0\0\0\3abc"), signing_in)
    assert isinstance(message, frontend.Secret) and "abc" not in repr(message)
    assert read_initial_response(message) == ("SCRAM-SHA-256", b"abc")
    assert read_password(frontend.Secret(b"pass\0")) == "pass"
    for body in (b"pass", b"pa\0ss\0", b"\xff\0", b""):
        with pytest.raises(ProtocolError):
            read_password(frontend.Secret(body))
    for body in (b"SCRAM", b"SCRAM\0\0\0\0\4abc", b"SCRAM\0\0\0\0\2abc", b"S\0\0\0"):
        with pytest.raises(ProtocolError):
            read_initial_response(frontend.Secret(body))


def mutated(draw: random.Random) -> bytes:
    """A message that is mostly wrong: cut, lengthened, with bytes changed, or made of noise."""
    valid: list[Callable[[], bytes]] = [
        lambda: frontends.query("SELECT COUNT(*) FROM visits"),
        lambda: frontends.parse("s", "SELECT $1", [draw.randrange(2**32)]),
        lambda: frontends.bind("p", "s", [1], [draw.randbytes(4), None][: draw.randrange(3)], [0]),
        lambda: frontends.describe("S", "s"), lambda: frontends.execute("p", draw.randrange(99)),
        lambda: frontends.close("P", "p"), lambda: frontends.SYNC, lambda: frontends.startup(user="ada"),
        lambda: frontends.cancel(7, draw.randbytes(draw.randrange(9))), lambda: frontends.SSL_REQUEST,
        lambda: frontends.secret(b"SCRAM-SHA-256\0\0\0\0\3abc"),
        lambda: frontends.framed(bytes([draw.randrange(256)]), draw.randbytes(draw.randrange(60))),
    ]  # fmt: skip
    data = bytearray(draw.choice(valid)())
    for _ in range(draw.randrange(4)):
        match draw.randrange(4):
            case 0:
                data[draw.randrange(len(data))] = draw.randrange(256)
            case 1:
                del data[draw.randrange(1, len(data) + 1) :]
            case 2:
                data += draw.randbytes(draw.randrange(20))
            case _:
                at = draw.randrange(len(data))
                data[at : at + 4] = struct.pack("!I", draw.choice([0, 3, 4, 2**16, 2**31, 2**32 - 1]))
    return bytes(data)


def run_malformed(rounds: int, seed: int) -> None:
    draw, refused, taken = random.Random(seed), 0, 0
    for _ in range(rounds):
        phase = draw.randrange(3)
        reading = reader(started=phase > 0, signed_in=phase == 2)
        reading.feed(b"".join(mutated(draw) for _ in range(draw.randrange(1, 4))))
        try:
            while reading.read() is not None:
                taken += 1
        except ProtocolError:
            refused += 1
    assert refused > rounds / 10 and taken > rounds / 10


def test_malformed_messages_raise_one_error_alone() -> None:
    run_malformed(5_000, 1)


@pytest.mark.soak
def test_a_hundred_thousand_malformed_messages_raise_one_error_alone() -> None:
    run_malformed(100_000, 2)


@given(st.binary(max_size=300), st.booleans(), st.booleans())
def test_any_bytes_are_messages_or_one_error(data: bytes, started: bool, signed_in: bool) -> None:
    reading = reader(started=started, signed_in=signed_in)
    reading.feed(data)
    try:
        while reading.read() is not None:
            pass
    except ProtocolError:
        pass


def test_what_a_server_sends() -> None:
    notice = backend.Notice("ERROR", "42601", "no\0such", hint="ask", position=3)
    assert frontends.fields(notice.encode()[5:]) == {
        "S": "ERROR", "V": "ERROR", "C": "42601", "M": "no␀such", "H": "ask", "P": "3",
    }  # fmt: skip
    assert notice.encode()[:1] == b"E" and backend.Notice("NOTICE", "00000", "n").encode()[:1] == b"N"
    assert list(frontends.messages(backend.ready("T") + backend.PARSE_COMPLETE)) == [("Z", b"T"), ("1", b"")]
    assert backend.data_row([b"a", None, b""])[5:] == b"\0\3\0\0\0\1a\xff\xff\xff\xff\0\0\0\0"
    assert backend.negotiate_version(2, ["_pq_.x"])[5:] == b"\0\3\0\2\0\0\0\1_pq_.x\0"
    assert backend.copy_out(2, binary=True)[5:] == b"\1\0\2\0\1\0\1"
