"""The count-mean sketches: the model of collisions, open domains, and the peers' mistakes."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest
from hashed_laws import assert_mean_square_over_functions, assert_supports_are_those_of_the_law, buckets_of_all

from discreet.errors import DataError, ParameterError
from discreet.local import CountMeanSketch, HadamardCountMeanSketch, Reports, from_json
from discreet.local.frequencies._hash_families import buckets_of
from discreet.local.frequencies._supports import HashedSupports

BOTH = pytest.mark.parametrize("sketch", [CountMeanSketch, HadamardCountMeanSketch])
WORDS = ["the", "of", "", "ü", "日本", "nul\0", "nul", "\ud800"]


@pytest.mark.parametrize("hashes", [1, 2])
@pytest.mark.parametrize("weights", [(Fraction(1, 2), Fraction(1, 2)), (Fraction(2, 3), Fraction(1, 3))])
@pytest.mark.parametrize("people", [(0,), (0, 0, 1), (1, 1, 2, 2, 2)])
def test_the_model_is_exact(hashes, weights, people) -> None:
    """Every choice of functions from three values to two buckets, and every law of the clients under it."""
    p, other = Fraction(3, 4), Fraction(1, 5)
    two, three = (sum(weight**power for weight in weights) for power in (2, 3))
    law = HashedSupports(hashes, 2, two, three, p, other)
    shares = [Fraction(people.count(value), len(people)) for value in range(3)]
    means, errors = [Fraction(0)] * 3, [Fraction(0)] * 3
    functions = list(itertools.product(range(2), repeat=3))
    for drawn in itertools.product(functions, repeat=hashes):
        weight = Fraction(1)
        for function in drawn:
            for bucket in function:
                weight *= weights[bucket]
        for value in range(3):
            colliding = [Fraction(sum(f[value] == f[own] for f in drawn), hashes) for own in people]
            supported = [other + (p - other) * share for share in colliding]
            found = (sum(supported) / len(people) - law.q) / (p - law.q)
            spread = sum(each * (1 - each) for each in supported) / (len(people) * (p - law.q)) ** 2
            means[value] += weight * found
            errors[value] += weight * (spread + (found - shares[value]) ** 2)
    assert means == shares
    exact = np.array([float(share) for share in shares])
    stated = law.falling(exact) / len(people) + law.staying(exact, (exact**2).sum() - exact**2)
    assert stated == pytest.approx([float(error) for error in errors], rel=1e-12)


@BOTH
def test_reports_support_as_the_law_says(sketch) -> None:
    scheme = sketch(1, hashes=3, width=4, domain=4, key=3)
    hashed = np.array([[buckets_of([str(value)], 3 << 32 | row, 4)[0] for row in range(3)] for value in range(4)])
    assert np.array_equal(buckets_of_all(scheme), hashed)
    assert_supports_are_those_of_the_law(scheme)


@pytest.mark.sampled
@BOTH
@pytest.mark.parametrize(("epsilon", "hashes", "width"), [(6, 4, 8), (4, 8, 16), (1, 16, 64)])
def test_errors_are_those_of_theory(sketch, epsilon, hashes, width) -> None:
    """From where collisions are most of the error to where they are hardly any."""
    values = np.repeat(np.arange(12), [600, 300, 100, 40, 40, 0, 0, 20, 20, 20, 5, 0])
    assert_mean_square_over_functions(
        lambda key: sketch(epsilon, hashes=hashes, width=width, domain=40, key=key), values, rounds=500
    )


@pytest.mark.soak
@BOTH
def test_errors_at_full_size_are_those_of_theory(sketch) -> None:
    values = np.repeat(np.arange(300), np.floor(8000 / np.arange(1, 301) / 6.28).astype(int))
    assert_mean_square_over_functions(
        lambda key: sketch(2, hashes=32, width=256, domain=300, key=key), values, rounds=400, within=0.0075
    )


def test_variances_are_those_of_a_flipped_bit() -> None:
    """A bit of CMS that is flipped has variance e^(ε/2)/(e^(ε/2) − 1)², a sign of HCMS ((e^ε + 1)/(e^ε − 1))²."""
    plain = CountMeanSketch(4, hashes=1024, width=1024, domain=2).variance(np.zeros(2))[0]
    flips = np.exp(2) / (np.exp(2) - 1) ** 2
    assert plain == pytest.approx((1024 / 1023) ** 2 * (flips + 1 / 1024 - 1 / 1024**2), rel=1e-5)
    bit = HadamardCountMeanSketch(4, hashes=1024, width=1024, domain=2).variance(np.zeros(2))[0]
    grown = (np.exp(4) + 1) / (np.exp(4) - 1)
    assert bit == pytest.approx((1024 / 1023) ** 2 * (grown**2 - 1 / 1024**2), rel=1e-5)


@BOTH
@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
def test_a_value_that_all_have_is_estimated_so(sketch, epsilon) -> None:
    """pure-ldp's private count sketch is never debiased: there the share is far off 1. Off by 6.3σ at chance 1e-9."""
    people = 20_000
    scheme = sketch(epsilon, hashes=16, width=64)
    found = scheme.server().add(scheme.simulate(["it"] * people)).estimate(candidates=["it", "other"])
    within = 6.3 * np.sqrt(scheme.variance([1, 0]) / people + scheme.collision_variance([1, 0]))
    assert (abs(found.frequencies - [1, 0]) < within).all()
    assert within[0] < 0.2


@BOTH
def test_a_domain_and_its_texts_are_the_same(sketch) -> None:
    names = WORDS[:-1]  # half a pair of surrogates can be reported, and not be in a document
    listed, opened = (sketch(3, hashes=8, width=32, domain=domain, key=7) for domain in (names, None))
    rows = opened.simulate(WORDS * 30).rows
    one = listed.server().add(Reports(listed.fingerprint, rows)).estimate()
    two = opened.server().add(Reports(opened.fingerprint, rows)).estimate(candidates=names)
    assert np.array_equal(one.frequencies, two.frequencies)
    assert np.array_equal(one.stderr, two.stderr)
    some = opened.server().add(Reports(opened.fingerprint, rows)).estimate(candidates=WORDS[2:4])
    assert np.array_equal(some.frequencies, two.frequencies[2:4])
    assert some.domain.names == ("", "ü")


@BOTH
def test_candidates(sketch) -> None:
    opened, listed = sketch(1, hashes=4, width=8), sketch(1, hashes=4, width=8, domain=3)
    server = opened.server().add(opened.client().encode("a"))
    with pytest.raises(ParameterError, match=r"estimate\(candidates"):
        server.estimate()
    for candidates in ([1], ["a", "a"], [], 5):
        with pytest.raises(ParameterError):
            server.estimate(candidates=candidates)
    with pytest.raises(ParameterError, match="no candidates"):
        listed.server().add(listed.simulate([0])).estimate(candidates=["0"])


@BOTH
def test_only_texts_are_reported_where_there_is_no_domain(sketch, monkeypatch) -> None:
    client = sketch(1, hashes=4, width=8).client()
    assert len(client.encode([])) == 0
    assert len(client.encode(np.array(["a", "b"]))) == 2
    monkeypatch.setattr("discreet.local._client.fresh_draws", None)
    for values in (1, None, [1], ["a", None], [b"a"], [["a"]]):
        with pytest.raises(ParameterError, match="texts"):
            client.encode(values)


@BOTH
def test_texts_are_remembered(sketch) -> None:
    scheme = sketch(1, hashes=4, width=8, longitudinal="memoize")
    secret = bytes(range(16))
    batches = [scheme.client(secret).encode([*WORDS, *WORDS]) for _ in range(2)]
    assert batches[0] == batches[1]
    assert np.array_equal(batches[0].rows[:8], batches[0].rows[8:])


def test_reports_that_no_client_sends_are_dropped_and_forged_ones_are_reports() -> None:
    scheme = CountMeanSketch(1, hashes=3, width=12)
    rows = np.array([[2, 255, 15], [3, 0, 0], [0, 0, 16], [0, 0, 0]], dtype=np.uint8)
    server = scheme.server().add(Reports(scheme.fingerprint, rows))
    assert (server.reports, server.rejected) == (2, 2)
    assert server.counts.reshape(3, 13)[:, 0].tolist() == [1, 0, 1]
    assert server.counts.sum() == 2 + 12
    bits = HadamardCountMeanSketch(1, hashes=3, width=4)
    assert bits.layout.width == 1
    server = bits.server().add(Reports(bits.fingerprint, np.array([[23], [24], [255], [0]], dtype=np.uint8)))
    assert (server.reports, server.rejected, server.counts.sum()) == (2, 2, 2)


@BOTH
def test_client_and_server_have_no_defaults_to_disagree_about(sketch) -> None:
    """pure-ldp's sketch servers make hash functions that their clients must be handed, and reset forgets them."""
    scheme = sketch(2)
    document = json.loads(scheme.to_json())
    for name in ("epsilon", "hashes", "width", "domain", "key", "hash"):
        with pytest.raises(ParameterError, match=name):
            from_json(json.dumps({key: value for key, value in document.items() if key != name}))
    with pytest.raises(ParameterError, match="hash"):
        from_json(json.dumps({**document, "hash": "linear-1"}))
    with pytest.raises(DataError, match="load the scheme"):
        sketch(2, key=1).server().add(scheme.simulate(["a"]))
    client, server = from_json(scheme.to_json()).client(), from_json(scheme.to_json()).server()
    assert server.add(client.encode("a")).reports == 1 == server.counts[server.counts > 0].min()
    assert not scheme.server().counts.any()


@BOTH
@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"hashes": 0}, "hashes"),
        ({"hashes": 2**16 + 1}, "hashes"),
        ({"hashes": 2.0}, "hashes"),
        ({"width": 1}, "width"),
        ({"width": 2**21}, "width"),
        ({"width": "8"}, "width"),
        ({"hashes": 2**16, "width": 2**11}, "width"),
        ({"key": -1}, "key"),
        ({"key": 2**32}, "key"),
        ({"domain": 1}, "domain"),
        ({"epsilon": "1e-7"}, "epsilon"),
        ({"longitudinal": "never"}, "longitudinal"),
    ],
)
def test_parameters_that_no_scheme_has_are_refused(sketch, change, match) -> None:
    with pytest.raises(ParameterError, match=match):
        sketch(**{"epsilon": 1, **change})


def test_the_hadamard_sketch_wants_a_power_of_two() -> None:
    with pytest.raises(ParameterError, match="power of two"):
        HadamardCountMeanSketch(1, width=1000)


@BOTH
def test_shares_are_in_one_dimension(sketch) -> None:
    for frequencies in ([[0.5]], 0.5, [1.0]):
        with pytest.raises(ParameterError, match="frequencies"):
            sketch(1, domain=3).variance(frequencies)
    assert sketch(1).variance([0.5]).shape == (1,)
    assert sketch(1).collision_variance([1.0]).tolist() == [0]
