"""Local hashing: exact collisions, the published variances, public functions, and the peers' mistakes."""

from __future__ import annotations

import itertools
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hashed_laws import assert_mean_square_over_functions, assert_supports_are_those_of_the_law

from discreet.errors import DataError, ParameterError
from discreet.local import LocalHashing, Reports, from_json
from discreet.local.frequencies._hash_families import LinearHashes, QuadraticHashes, prime_from

SHAPES = [(2, 2), (3, 7), (5, 2), (5, 4), (5, 5), (7, 4), (11, 3), (13, 12)]


@pytest.mark.parametrize(("size", "buckets"), SHAPES)
def test_any_two_values_collide_with_the_stated_probability_exactly(size, buckets) -> None:
    family = LinearHashes(size, buckets)
    keys = np.arange(family.keys)
    hashed = [family.hashed(np.full(family.keys, value), keys) for value in range(size)]
    for one, two in itertools.combinations(hashed, 2):
        assert Fraction(int((one == two).sum()), family.keys) == family.collision
    assert family.collision <= Fraction(1, buckets)


@pytest.mark.parametrize(("size", "buckets"), [*SHAPES, (100, 4), (1025, 3), (5000, 2), (32_749, 5), (40_000, 55)])
def test_supports_are_those_of_hashing_each_value(size, buckets) -> None:
    source = np.random.default_rng(size)
    family = LinearHashes(size, buckets)
    for count in (0, 1, 127, 128, 129, 300):
        keys, told = source.integers(0, family.keys, count), source.integers(0, buckets, count)
        keys[:2] = (0, family.keys - 1)[:count]
        expected = np.zeros(size, dtype=int)
        for key, bucket in zip(keys, told, strict=True):
            expected += family.hashed(np.arange(size), key) == bucket
        assert np.array_equal(family.supports(keys, told), expected)


def test_the_largest_family_stays_in_its_words() -> None:
    family = LinearHashes(2**24, 2**16)
    assert family.prime == 2**24 + 43
    for key, value in itertools.product((0, 12345678987, family.keys - 1), (0, 1, 2**23 + 5, 2**24 - 1)):
        a, b = 1 + key % (family.prime - 1), key // (family.prime - 1)
        expected = (a * value + b) % family.prime * 2**16 // family.prime
        assert family.hashed(np.array([value]), np.array([key])).tolist() == [expected]
    keys = np.array([family.keys - 1])
    told = family.hashed(np.array([7_654_321]), keys)
    values = np.arange(2**24)
    assert np.array_equal(family.supports(keys, told), family.hashed(values, keys) == told)


def test_the_functions_of_these_versions_never_change() -> None:
    """Clients that are already out there know no other."""
    values = np.arange(12)
    assert LinearHashes(100, 4).hashed(values, np.array(1234)).tolist() == LINEAR_1
    assert QuadraticHashes(100, 4, 10, key=0).hashed(values, values % 3).tolist() == QUADRATIC_1
    assert QuadraticHashes(100, 5, 10, key=9).hashed(values, np.full(12, 7)).tolist() == QUADRATIC_1_OF_9


LINEAR_1 = [0, 1, 3, 0, 2, 3, 0, 2, 3, 0, 2, 3]
QUADRATIC_1 = [3, 0, 0, 3, 0, 2, 0, 3, 2, 0, 0, 0]
QUADRATIC_1_OF_9 = [3, 0, 4, 1, 1, 4, 0, 4, 0, 0, 2, 2]


@pytest.mark.parametrize("buckets", [2, 3, 1000, 2**16])
def test_public_functions_in_whole_numbers(buckets) -> None:
    prime = 2**31 - 1
    family = QuadraticHashes(2**24, buckets, 4, key=5)
    corners = [0, 1, 2, prime - 2, prime - 1]
    coefficients = np.array(list(itertools.product(corners, repeat=3))).T
    for value in (0, 1, 12345, 2**24 - 1):
        found = family._evaluate(np.full(coefficients.shape[1], value), coefficients)
        expected = [(c2 * value**2 + c1 * value + c0) % prime * buckets >> 31 for c0, c1, c2 in coefficients.T.tolist()]
        assert found.tolist() == expected
    assert family.collision == pytest.approx(1 / buckets, rel=1e-9)
    assert family.triple == pytest.approx(1 / buckets**2, rel=1e-9)
    sizes = np.bincount([residue * 5 >> 31 for residue in range(0, prime, 1 << 20)], minlength=5) / 2048
    assert QuadraticHashes(9, 5, 1, 0).collision == pytest.approx(float((sizes**2).sum()), rel=1e-3)


@pytest.mark.parametrize(("size", "hashes"), [(3, 5), (7, 40_000), (70_000, 3)])
def test_a_public_server_hashes_as_its_clients_do(size, hashes) -> None:
    family = QuadraticHashes(size, 3, hashes, key=1)
    table = np.random.default_rng(1).integers(0, 100, (hashes, 3))
    expected = np.zeros(size, dtype=int)
    rows = np.arange(hashes)
    if size < hashes:
        expected[:] = [table[rows, family.hashed(np.full(hashes, value), rows)].sum() for value in range(size)]
    else:
        for row in rows:
            expected += table[row, family.hashed(np.arange(size), np.full(size, row))]
    assert np.array_equal(family.supports(table), expected)


# Wang, Blocki, Li and Jha 2017: n times the variance of a value that nobody has.
@pytest.mark.parametrize(("buckets", "expected"), [(None, (3.692, 0.725, 0.076)), (2, (4.683, 1.724, 1.076))])
@pytest.mark.parametrize("keys", [None, 2**16])
def test_published_variances(buckets, expected, keys) -> None:
    for epsilon, variance in zip((1, 2, 4), expected, strict=True):
        scheme = LocalHashing(domain=10_000, epsilon=epsilon, buckets=buckets, keys=keys)
        assert scheme.buckets == (buckets or round(math.e**epsilon + 1))
        assert scheme.variance(np.zeros(10_000))[0] == pytest.approx(variance, rel=2e-3, abs=5e-4)


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "2", "3", "5", "10"])
@pytest.mark.parametrize("size", [2, 3, 5, 6, 20, 100])
def test_the_buckets_are_those_of_the_least_variance(size, epsilon) -> None:
    def worst(buckets: int | None) -> float:
        return LocalHashing(size, epsilon, buckets=buckets).variance(np.zeros(size))[0]

    best = min(range(2, prime_from(size) + 1), key=worst)
    assert worst(None) == pytest.approx(worst(best), rel=1e-12)


def test_public_functions_support_as_the_law_says() -> None:
    assert_supports_are_those_of_the_law(LocalHashing(domain=4, epsilon=1, buckets=3, keys=5, key=2))


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(("epsilon", "keys"), [("4", 2), ("4", 64), ("1", 512)])
def test_errors_under_public_functions_are_those_of_theory(epsilon, keys) -> None:
    """From where collisions are most of the error to where they are hardly any."""
    values = np.repeat(np.arange(12), [600, 300, 100, 40, 40, 0, 0, 20, 20, 20, 5, 0])
    assert_mean_square_over_functions(lambda key: LocalHashing(40, epsilon, keys=keys, key=key), values, rounds=700)


@pytest.mark.soak
@pytest.mark.parametrize("keys", [None, 512])
@pytest.mark.parametrize("epsilon", ["1", "4"])
def test_errors_at_full_size_are_within_a_twentieth_of_theory(epsilon, keys) -> None:
    values = np.repeat(np.arange(300), np.floor(8000 / np.arange(1, 301) / 6.28).astype(int))
    assert_mean_square_over_functions(
        lambda key: LocalHashing(300, epsilon, keys=keys, key=key if keys else 0), values, rounds=400, within=0.0075
    )


def test_reports_that_no_client_sends_are_dropped_and_forged_ones_are_reports() -> None:
    scheme = LocalHashing(domain=100, epsilon=1)
    assert scheme.layout.limits == (101 * 100, 4)
    rows = scheme.layout.pack(np.array([10_099, 10_100, 5, 65_535, 9]), np.array([3, 0, 4, 0, 0]))
    server = scheme.server().add(Reports(scheme.fingerprint, rows))
    assert (server.reports, server.rejected) == (2, 3)
    public = LocalHashing(domain=100, epsilon=1, keys=10)
    rows = public.layout.pack(np.array([0, 39, 40, 255]))
    server = public.server().add(Reports(public.fingerprint, rows))
    assert (server.reports, server.rejected, server.counts.sum()) == (2, 2, 2)


@pytest.mark.parametrize("public", [{}, {"keys": 500}])
def test_client_and_server_have_no_defaults_to_disagree_about(public) -> None:
    """pure-ldp's fast local hashing has g = 2 in its client and another in its server by default."""
    scheme = LocalHashing(domain=["a", "b", "c"], epsilon=2, **public)
    document = json.loads(scheme.to_json())
    assert scheme == LocalHashing(["a", "b", "c"], 2, buckets=scheme.buckets, **public)
    for name in ("domain", "epsilon", "buckets", "keys", "key", "hash"):
        with pytest.raises(ParameterError, match=name):
            from_json(json.dumps({key: value for key, value in document.items() if key != name}))
    other = LocalHashing(["a", "b", "c"], 2, buckets=scheme.buckets + 1, **public)
    with pytest.raises(DataError, match="load the scheme"):
        other.server().add(scheme.simulate(["a"]))
    assert pickle.loads(pickle.dumps(scheme)) == scheme
    with pytest.raises(AttributeError):
        scheme.buckets = 4  # pure-ldp's update_params(g) leaves p as it was


def test_a_new_server_is_empty_and_counts_all() -> None:
    """pure-ldp's fast local hashing forgets counts, and not their number, when it is reset."""
    scheme = LocalHashing(domain=8, epsilon=4, keys=50)
    scheme.server().add(scheme.simulate([0] * 500))
    server = scheme.server()
    assert server.reports == 0 == server.counts.sum()
    server.add(scheme.simulate([1] * 400))
    assert server.reports == 400 == server.counts.sum()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"buckets": 1}, "buckets"),
        ({"buckets": 2**16 + 1}, "buckets"),
        ({"buckets": 2.0}, "buckets"),
        ({"buckets": True}, "buckets"),
        ({"keys": 0}, "keys"),
        ({"keys": 2**26}, "keys"),
        ({"keys": "5"}, "keys"),
        ({"keys": True}, "keys"),
        ({"key": 1}, "keys=K"),
        ({"keys": 5, "key": -1}, "key"),
        ({"keys": 5, "key": 2**32}, "key"),
        ({"domain": 1}, "domain"),
        ({"epsilon": 0}, "epsilon"),
        ({"longitudinal": "never"}, "longitudinal"),
    ],
)
def test_parameters_that_no_scheme_has_are_refused(change, match) -> None:
    with pytest.raises(ParameterError, match=match):
        LocalHashing(**{"domain": 10, "epsilon": 1, **change})


def test_numbers_of_numpy_are_numbers() -> None:
    scheme = LocalHashing(np.int64(10), 1, buckets=np.int64(3), keys=np.int64(5), key=np.uint8(7))
    assert from_json(scheme.to_json()) == scheme == LocalHashing(10, 1, buckets=3, keys=5, key=7)


def test_a_document_names_the_hash_function_of_its_parameters() -> None:
    for scheme in (LocalHashing(10, 1), LocalHashing(10, 1, keys=5)):
        document = json.loads(scheme.to_json())
        wrong = {"linear-1": "quadratic-1", "quadratic-1": "linear-1"}[document["hash"]]
        for hashed in (wrong, "md5", None):
            with pytest.raises(ParameterError, match="hash"):
                from_json(json.dumps({**document, "hash": hashed}))


def test_only_public_functions_collide_alike_for_all() -> None:
    shares = np.array([0.5, 0.3, 0.2, 0, 0])
    assert not LocalHashing(5, 1).collision_variance(shares).any()
    found = LocalHashing(5, 1, buckets=4, keys=10).collision_variance(shares)
    assert found == pytest.approx((0.38 - shares**2) / 30, rel=1e-6)
    with pytest.raises(ParameterError, match="frequencies"):
        LocalHashing(5, 1, keys=10).collision_variance([1.0])


def test_an_estimate_has_no_candidates_here() -> None:
    scheme = LocalHashing(5, 1, keys=10)
    with pytest.raises(ParameterError, match="candidates"):
        scheme.server().add(scheme.simulate([1])).estimate(candidates=["1"])
