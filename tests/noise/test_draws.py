"""Draws from one stream: packed coins byte by byte, and streams that a secret remembers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.errors import ParameterError
from discreet.noise import Draws, derived_secret, fresh_draws, remembered_draws

SECRET = bytes(range(32))


def unpacked(rows: np.ndarray, bits: int) -> np.ndarray:
    return np.unpackbits(rows, axis=1, count=bits, bitorder="little").astype(bool)


@pytest.mark.parametrize(
    "p", [Fraction(0), Fraction(1, 2**40), Fraction(1, 3), Fraction(77, 256), Fraction(999, 1000), Fraction(1)]
)
def test_a_packed_coin_compares_all_bits_of_the_uniform_with_p(p, scripted) -> None:
    """Over all 256 first bytes, and words beside the rest of p for the one byte that leaves it open."""
    first, rest = divmod(p * 256, 1)
    word = int(rest * 2**64)
    for second in {0, max(word - 1, 0), min(word + 1, 2**64 - 1), 2**64 - 1}:
        draws = Draws(scripted(bytes(range(256)) + second.to_bytes(8, "little")))
        expected = [Fraction(byte, 256) + Fraction(second, 2**72) < p for byte in range(256)]
        found = unpacked(draws.packed_coins(p, 1, 256), 256)[0].tolist()
        if second == word and rest * 2**64 != word:
            del expected[first], found[first]  # decided by the words that follow
        assert found == expected


@pytest.mark.parametrize("bits", [1, 7, 8, 9, 1000])
@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1, 5)])
def test_packed_coins_fill_rows_and_nothing_else(p, bits) -> None:
    """The number of ones is binomial; fails by chance with probability 1e-12."""
    rows = fresh_draws().packed_coins(p, 3000, bits)
    assert rows.shape == (3000, -(-bits // 8))
    assert not np.unpackbits(rows, axis=1, bitorder="little")[:, bits:].any()
    ones = int(unpacked(rows, bits).sum())
    assert stats.binomtest(ones, 3000 * bits, float(p)).pvalue > 1e-12
    assert fresh_draws().packed_coins(p, 0, bits).shape == (0, -(-bits // 8))


def test_a_secret_remembers_its_draws() -> None:
    """What clients have drawn must never change: these numbers are part of the format."""
    draws = remembered_draws(SECRET, b"colour")
    assert draws.below(1000, 6).tolist() == [712, 299, 951, 740, 893, 928]
    assert draws.coins(Fraction(1, 3), 8).tolist() == [False, False, True, False, False, False, True, True]
    assert draws.packed_coins(Fraction(3, 5), 1, 20).tolist() == [[157, 220, 6]]


def test_other_secrets_and_other_labels_draw_something_else() -> None:
    seen = {
        remembered_draws(secret, label).below(2**62, 1)[0]
        for secret in (SECRET, SECRET[:16], bytes(32))
        for label in (b"", b"a", b"b", b"ab")
    }
    assert len(seen) == 12


@pytest.mark.parametrize("secret", [b"", bytes(15), "x" * 32, None, bytearray(32)])
def test_secrets_that_are_none_are_refused(secret) -> None:
    for use in (remembered_draws, derived_secret):
        with pytest.raises(ParameterError, match="secret"):
            use(secret, b"")


def test_derived_secrets_differ_by_label_and_are_no_key_of_draws() -> None:
    seen = {derived_secret(secret, label) for secret in (SECRET, bytes(32)) for label in (b"", b"a", b"b")}
    assert len(seen) == 6
    assert {len(each) for each in seen} == {32}
    again = derived_secret(SECRET, b"colour")
    assert remembered_draws(again, b"colour").below(2**62, 1) != remembered_draws(SECRET, b"colour").below(2**62, 1)
    assert again.hex() == "86c76100b398b44ffb1da39ba55b5117fc8b5036367aa62627f8351777797025"
