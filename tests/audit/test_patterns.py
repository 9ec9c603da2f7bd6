"""Patterns of neighbouring inputs are neighbours, each given once."""

from __future__ import annotations

import pytest

from discreet.audit.black_box._check import check
from discreet.audit.black_box._subject import batched
from discreet.audit.neighbours._patterns import answer_patterns, record_patterns
from discreet.errors import ParameterError
from discreet.mechanisms import DiscreteLaplace
from discreet.privacy import pure

SIZES = (1, 2, 3, 4, 5, 8)


def distance(one: list[float], other: list[float], relation: str) -> int:
    """How many records must be added or removed, or changed, whatever their order."""
    rest = list(other)
    kept = 0
    for each in one:
        if each in rest:
            rest.remove(each)
            kept += 1
    return len(one) + len(other) - 2 * kept if relation == "add_remove" else len(one) - kept


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("sensitivity", [1, 3, 0.5])
def test_answers_move_by_at_most_the_sensitivity(size: int, sensitivity: float) -> None:
    for moves in ("all", "one_way", "one"):
        for one, other in answer_patterns(size, sensitivity=sensitivity, around=10.0, moves=moves):
            steps = [(b - a) / sensitivity for a, b in zip(one, other, strict=True)]
            assert len(one) == size
            assert max(map(abs, steps)) == 1
            if moves == "one_way":
                assert min(steps) >= 0 or max(steps) <= 0
            if moves == "one":
                assert sum(map(abs, steps)) == 1


def test_answers_are_those_of_the_table() -> None:
    """Ding and others 2018, Table 2, around 1: order within a pair does not matter."""
    found = {frozenset(map(tuple, pair)) for pair in answer_patterns(5, around=1)}
    for other in ([2, 1, 1, 1, 1], [0, 1, 1, 1, 1], [2, 0, 0, 0, 0], [0, 2, 2, 2, 2], [0, 0, 2, 2, 2]):
        assert frozenset([(1, 1, 1, 1, 1), tuple(other)]) in found
    assert {frozenset([(1,) * 5, (2,) * 5]), frozenset([(1,) * 5, (0,) * 5])} <= found
    assert frozenset([(2, 2, 1, 1, 1), (1, 1, 2, 2, 2)]) in found


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
@pytest.mark.parametrize("beyond", [False, True])
def test_data_sets_differ_in_one_record(size: int, relation: str, beyond: bool) -> None:
    pairs = list(record_patterns((-1, 5), size=size, relation=relation, beyond=beyond))
    assert 0 < len(pairs) <= 40
    for one, other in pairs:
        assert distance(one, other, relation) == 1
        inside = sum(-1 <= each <= 5 for each in one)
        assert inside == len(one) or (beyond and inside == len(one) - 1)


def test_every_pair_is_given_once() -> None:
    for pairs in (list(answer_patterns(6)), list(record_patterns((0, 1), size=6, beyond=True))):
        assert len({frozenset(map(tuple, pair)) for pair in pairs}) == len(pairs)


def test_with_records_of_all_kinds_there_are_none_and_one() -> None:
    assert ([1], []) in list(record_patterns((0, 1), size=10))


@pytest.mark.parametrize("arguments", [{"size": 0}, {"size": 2, "sensitivity": 0}, {"size": 2, "moves": "some"}])
def test_answers_that_cannot_be_made_are_refused(arguments: dict) -> None:
    with pytest.raises(ParameterError):
        list(answer_patterns(**arguments))


@pytest.mark.parametrize(
    "arguments", [{"bounds": (1, 1)}, {"bounds": (0, 1), "size": 0}, {"bounds": (0, 1), "relation": "replace"}]
)
def test_records_that_cannot_be_made_are_refused(arguments: dict) -> None:
    with pytest.raises(ParameterError):
        list(record_patterns(**arguments))


def test_the_search_finds_the_pair_that_tells() -> None:
    """A sum that is not clamped, found among all pairs of records. Missed with probability below 1e-9."""
    unclamped = batched(lambda rows, size: DiscreteLaplace(1).release([sum(rows)] * size))
    verdict = check(unclamped, record_patterns((0, 1), beyond=True), pure(1), samples=20_000)
    assert verdict.violated


def test_the_search_finds_answers_that_move_together() -> None:
    """Noise for one answer, on five that move. ε is 5 where 1 is claimed: missed with probability below 1e-9."""

    def too_little(answers: list[int], size: int) -> list[list[int]]:
        noisy = DiscreteLaplace(1).release(answers * size)
        return [noisy[i : i + len(answers)] for i in range(0, len(noisy), len(answers))]

    assert check(batched(too_little), answer_patterns(5), pure(1), samples=40_000).violated
    assert not check(
        batched(too_little), answer_patterns(5, moves="one"), pure(1), samples=40_000, confidence=1 - 1e-9
    ).violated
