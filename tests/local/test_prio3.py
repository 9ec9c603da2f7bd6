"""Prio3: published vectors, arithmetic against Python's whole numbers, and proofs of what is not valid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from prio3_laws import FORGERIES, accepted, drawn, forged
from prio3_vectors import NAMES, VECTORS, prio3_of, rows

from discreet.local.two_servers.prio3 import (
    NONCE,
    Circuit,
    Count,
    Histogram,
    MultihotCountVec,
    Prio3,
    Sum,
    SumVec,
)
from discreet.local.two_servers.prio3._circuit import bits_of, weights_of
from discreet.local.two_servers.prio3._expand import derived, expanded, turboshake128
from discreet.local.two_servers.prio3._field import Field, Vector
from discreet.local.two_servers.prio3._field64 import Field64
from discreet.local.two_servers.prio3._field128 import Field128
from discreet.local.two_servers.prio3._proof import Proofs, doubled, last_value, weights_at

FIELDS: list[Field] = [Field64(), Field128()]


def pattern(length: int) -> bytes:
    return bytes(i % 251 for i in range(length))


@pytest.mark.parametrize(  # RFC 9861, Section 5
    ("message", "domain", "length", "expected"),
    [
        (b"", 0x1F, 32, "1e415f1c5983aff2169217277d17bb538cd945a397ddec541f1ce41af2c1b74c"),
        (b"", 0x1F, 64, "3e8ccae2a4dae56c84a04c2385c03c15e8193bdf58737363321691c05462c8df"),
        (b"", 0x1F, 10032, "a3b9b0385900ce761f22aed548e754da10a5242d62e8c658e3f3a923a7555607"),
        (pattern(1), 0x1F, 32, "55cedd6f60af7bb29a4042ae832ef3f58db7299f893ebb9247247d856958daa9"),
        (pattern(17), 0x1F, 32, "9c97d036a3bac819db70ede0ca554ec6e4c2a1a4ffbfd9ec269ca6a111161233"),
        (pattern(17**2), 0x1F, 32, "96c77c279e0126f7fc07c9b07f5cdae1e0be60bdbe10620040e75d7223a624d2"),
        (pattern(17**3), 0x1F, 32, "d4976eb56bcf118520582b709f73e1d6853e001fdaf80e1b13e0d0599d5fb372"),
        (b"\xff" * 3, 0x01, 32, "bf323f940494e88ee1c540fe660be8a0c93f43d15ec006998462fa994eed5dab"),
        (b"\xff" * 3, 0x07, 32, "b658576001cad9b1e5f399a9f77723bba05458042d68206f7252682dba3663ed"),
        (b"\xff" * 7, 0x0B, 32, "8deeaa1aec47ccee569f659c21dfa8e112db3cee37b18178b2acd805b799cc37"),
    ],
    ids=["empty", "64", "10032", "1", "17", "17**2", "17**3", "domain 1", "domain 7", "domain 11"],
)
def test_turboshake128_is_the_published_one(message: bytes, domain: int, length: int, expected: str) -> None:
    found = bytes(turboshake128(np.frombuffer(message, dtype=np.uint8)[None], domain, length)[0])
    assert found[-len(expected) // 2 :].hex() == expected


@pytest.mark.parametrize("size", [0, 1, 167, 168, 169, 335, 336])
def test_many_messages_are_hashed_as_each_alone(size: int) -> None:
    messages = drawn(5, size)
    together = turboshake128(messages, 1, 400)
    assert all((turboshake128(messages[i : i + 1], 1, 400) == together[i]).all() for i in range(5))


def test_secrets_expand_as_published() -> None:
    vector = VECTORS["XofTurboShake128"]
    secrets, binder = rows([vector["seed"]]), rows([vector["binder"]])
    tag = bytes.fromhex(vector["dst"])
    assert derived(secrets, tag, binder).tobytes().hex() == vector["derived_seed"]
    elements = expanded(Field128(), secrets, tag, binder, vector["length"])
    assert Field128().encode(elements).tobytes().hex() == vector["expanded_vec_field128"]


def test_what_is_past_the_modulus_is_left_out() -> None:
    # A secret with an element past the modulus among its first 13883, from the tests of the draft's own code.
    unlucky = rows(["44341dc52d71a2ff2e4c305e9335da9b19afc68e10b8b543690dad9d3bbb46ba"])
    secrets = np.concatenate((drawn(1, 32), unlucky, drawn(1, 32)))
    elements = expanded(Field64(), secrets, b"", secrets[:, :0], 13883)
    assert int(elements[1, -1, 0]) == 4857131209231097247
    assert Field64().canonical(elements).all()
    raw = turboshake128(np.concatenate((rows(["000020"]), unlucky), axis=1), 1, 8 * 13884).view("<u8")[0]
    past = np.flatnonzero(raw >= Field64.modulus)
    assert past.size == 1
    assert (np.delete(raw, past) == elements[1, :, 0]).all()


@pytest.mark.parametrize("field", FIELDS, ids=["64", "128"])
def test_arithmetic_is_that_of_whole_numbers(field: Field) -> None:
    p, words = field.modulus, 2**64
    edges = [0, 1, 2, 27, 28, 29, 2**32 - 1, 2**32, 2**63, words - 28, words - 1, words, 28 * words, p // 2, p // 28]
    numbers = sorted({number % p for edge in edges for number in (edge - 1, edge, edge + 1, -edge, p - edge * edge)})
    numbers += [int.from_bytes(row.tobytes(), "little") % p for row in drawn(40, 16)]
    elements = field.elements(numbers)
    assert field.numbers(elements) == numbers
    one, other = elements[:, None], elements[None]
    for found, expected in (
        (field.add(one, other), [a + b for a in numbers for b in numbers]),
        (field.sub(one, other), [a - b for a in numbers for b in numbers]),
        (field.mul(one, other), [a * b for a in numbers for b in numbers]),
    ):
        assert field.numbers(found.reshape(-1, field.limbs)) == [number % p for number in expected]
    assert field.numbers(field.sum(elements, 0)[None]) == [sum(numbers) % p]
    assert field.numbers(elements) == numbers  # untouched


@pytest.mark.parametrize("field", FIELDS, ids=["64", "128"])
def test_what_is_not_below_the_modulus_is_no_element(field: Field) -> None:
    size, p = field.size, field.modulus
    for number in (p, p + 1, 2 ** (8 * size) - 1):
        encoded = b"".join(n.to_bytes(size, "little") for n in (p - 1, number, 0, p - 1))
        read, good = field.decode(np.frombuffer(encoded, dtype=np.uint8).reshape(2, -1))
        assert good.tolist() == [False, True]
        assert field.canonical(read).all()
        assert field.numbers(read[1]) == [0, p - 1]


@pytest.mark.parametrize("field", FIELDS, ids=["64", "128"])
@pytest.mark.parametrize("order", [2, 4, 8, 32])
def test_polynomials_are_extended_and_evaluated(field: Field, order: int) -> None:
    p = field.modulus
    assert pow(field.root(order), order // 2, p) == p - 1
    coefficients = [[int.from_bytes(row.tobytes(), "little") % p for row in drawn(order, 16)] for _ in range(3)]

    def values(polynomial: list[int], points: list[int]) -> list[int]:
        return [sum(c * pow(x, i, p) for i, c in enumerate(polynomial)) % p for x in points]

    def at_roots(polynomial: list[int], n: int) -> list[int]:
        return values(polynomial, [pow(field.root(n), i, p) for i in range(n)])

    known = np.stack([field.elements(at_roots(each, order)) for each in coefficients])
    twice = doubled(field, known)
    assert [field.numbers(each) for each in twice] == [at_roots(each, 2 * order) for each in coefficients]
    assert (last_value(field, twice[:, :-1]) == twice).all()

    points = [int.from_bytes(row.tobytes(), "little") % p for row in drawn(3, 16)]
    for n, full in ((order, known), (2 * order, twice)):
        weights = weights_at(field, n, field.elements(points))
        found = field.numbers(field.sum(field.mul(weights, full), 1))
        assert found == [values(each, [x])[0] for each, x in zip(coefficients, points, strict=True)]


@pytest.mark.parametrize("largest", [1, 2, 3, 4, 5, 7, 8, 100, 255, 256, 1337])
def test_bits_say_just_the_numbers_up_to_the_largest(largest: int) -> None:
    weights = weights_of(largest)
    numbers = np.arange(largest + 1)
    assert (bits_of(numbers, largest).astype(np.int64) @ weights == numbers).all()
    sums = {0}
    for weight in weights:
        sums |= {each + weight for each in sums}
    assert sums == set(range(largest + 1))


@pytest.mark.parametrize("name", NAMES)
def test_reports_are_as_published(name: str) -> None:
    prio3, vector = prio3_of(name), VECTORS[name]
    reports, field = vector["reports"], prio3.circuit.field
    nonces, public = (rows([each[part] for each in reports]) for part in ("nonce", "public_share"))
    inputs = [rows([each["input_shares"][i] for each in reports]) for i in (0, 1)]
    if "bad" not in name:
        entropy = rows([each["rand"] for each in reports])
        sharded = prio3.shard(np.array([each["measurement"] for each in reports]), nonces, entropy)
        assert (sharded.public == public).all()
        assert all((ours == theirs).all() for ours, theirs in zip(sharded.inputs, inputs, strict=True))
        assert prio3.input_sizes == tuple(each.shape[1] for each in inputs)

    key = bytes.fromhex(vector["verify_key"])
    both = [prio3.verify_init(key, i, nonces, public, inputs[i]) for i in (0, 1)]
    for verified, theirs in zip(
        both, zip(*(each["verifier_shares"][0] for each in reports), strict=True), strict=False
    ):
        assert verified.good.all()
        assert (verified.share == rows(list(theirs))).all()
    message, valid = prio3.verifier_shares_to_message(both[0].share, both[1].share)
    assert valid.all() == ("verifier_shares_to_message" not in vector["failed"])
    if "verify_next" in vector["failed"]:
        told = rows([each["verifier_messages"][0] for each in reports])
        assert not prio3.verify_next(both[0], told).any()
    if "bad" in name:
        return

    assert (message == rows([each["verifier_messages"][0] for each in reports])).all()
    shares: list[Vector] = []
    for i, verified in enumerate(both):
        assert prio3.verify_next(verified, message).all()
        assert (field.encode(verified.outputs) == rows([each["out_shares"][i] for each in reports])).all()
        shares.append(field.sum(verified.outputs, 0))
    if "agg_shares" in vector:
        assert [field.encode(share[None]).tobytes().hex() for share in shares] == vector["agg_shares"]
        assert field.numbers(field.add(*shares)) == np.atleast_1d(vector["agg_result"]).tolist()


CIRCUITS: list[tuple[Circuit, NDArray[Any]]] = [
    (Count(), np.array([0, 1, 1])),
    *((Sum(largest), np.array([0, 1, largest // 2, largest])) for largest in (1, 2, 3, 100, 2**16, 2**32 - 1)),
    *((Histogram(size, chunk), np.arange(size)) for size, chunk in ((2, 1), (3, 1), (5, 2), (7, 7), (8, 3), (9, 20))),
    (SumVec(3, 5, 2), np.array([[0, 5, 3], [5, 5, 5], [0, 0, 0]])),
    (SumVec(1, 1, 4), np.array([[0], [1]])),
    (MultihotCountVec(5, 3, 2), np.array([[1, 0, 1, 0, 1], [0] * 5, [0, 0, 0, 0, 1]])),
]


@pytest.mark.parametrize(("circuit", "values"), CIRCUITS, ids=[str(circuit) for circuit, _ in CIRCUITS])
def test_honest_reports_are_accepted_and_sum_to_their_values(circuit: Circuit, values: NDArray[Any]) -> None:
    agreed, sums = accepted(Prio3(circuit, b"test"), values)
    assert agreed.all()
    expected = np.eye(circuit.size, dtype=int)[values] if isinstance(circuit, Histogram) else values
    assert circuit.field.numbers(sums.reshape(-1, circuit.field.limbs)) == expected.ravel().tolist()


def test_nothing_is_made_of_no_values() -> None:
    for circuit, values in CIRCUITS:
        assert accepted(Prio3(circuit, b"test"), values[:0])[0].size == 0


@pytest.mark.parametrize(("circuit", "forgeries"), FORGERIES, ids=[str(circuit) for circuit, _ in FORGERIES])
def test_what_is_not_valid_has_no_proof(circuit: Circuit, forgeries: list[list[int]]) -> None:
    # Each is accepted with probability below 2**-50: the degree of the polynomials over the field's size.
    assert not forged(circuit, forgeries).any()


def test_a_point_where_a_proof_would_tell_is_refused() -> None:
    proofs = Proofs(Sum(255))
    field, points = Field64(), proofs.circuit.shape.points
    roots = [pow(field.root(points), i, field.modulus) for i in range(points)]
    others = [pow(field.root(2 * points), 2 * i + 1, field.modulus) for i in range(points)] + [2, 3, 5]
    queries = np.zeros((points * 2 + 3, proofs.queries, 1), dtype=np.uint64)
    queries[:, -1] = field.elements(roots + others)
    assert proofs.revealing(queries).tolist() == [True] * points + [False] * (points + 3)


@pytest.mark.parametrize(("changed", "index"), [("context", 0), ("key", 0), ("key", 1), ("nonce", 0), ("nonce", 1)])
def test_servers_that_differ_in_anything_public_accept_nothing(changed: str, index: int) -> None:
    prio3, other = Prio3(Histogram(4, 2), b"one"), Prio3(Histogram(4, 2), b"two")
    nonces = drawn(4, NONCE)
    sharded = prio3.shard(np.arange(4), nonces, drawn(4, prio3.entropy))
    found = []
    for i in (0, 1):
        differs = i == index
        found.append(
            (other if changed == "context" and differs else prio3).verify_init(
                bytes([changed == "key" and differs] * 32),
                i,
                nonces ^ np.uint8(changed == "nonce" and differs),
                sharded.public,
                sharded.inputs[i],
            )
        )
    message, valid = prio3.verifier_shares_to_message(found[0].share, found[1].share)
    assert not (valid & prio3.verify_next(found[0], message) & prio3.verify_next(found[1], message)).any()
