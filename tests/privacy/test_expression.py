"""Expressions of losses: what is meant is read, and nothing is ever run."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.privacy import (
    ApproxLoss,
    GroupLoss,
    PureLoss,
    RhoLoss,
    approx,
    bounded_range,
    discrete_laplace,
    from_text,
    gaussian,
    mu,
    nonadaptive,
    pure,
    randomized_response,
    rdp,
    rho,
    tradeoff,
)

MEANT = {
    "pure(0.1)": pure(0.1),
    " pure(1/3) ": pure(Fraction(1, 3)),
    "pure(epsilon=1e-1)": pure(0.1),
    "approx(1, 1e-6)": approx(1, 1e-6),
    "rho(0.1, delta=1e-9)": rho(0.1, 1e-9),
    "mu(2)": mu(2),
    "rdp([2, 8.5], [0.02, 0.08])": rdp([2, 8.5], [0.02, 0.08]),
    "10_000 * gaussian(1.1).sampled(0.01) + pure(0.1)": 10_000 * gaussian(1.1).sampled(0.01) + pure(0.1),
    "1e4 * gaussian(noise=1.1)": 10_000 * gaussian(1.1),
    "gaussian(1) * 3": 3 * gaussian(1),
    "2 * 3 * pure(1)": 6 * pure(1),
    "2 * (pure(1) + pure(2))": 2 * (pure(1) + pure(2)),
    "gaussian(5).sampled(rate=0.1, scheme='without_replacement')": gaussian(5).sampled(0.1, "without_replacement"),
    "discrete_laplace(10, sensitivity=2).group(3)": discrete_laplace(10, 2).group(3),
    "randomized_response(0.75).shuffled(1000)": randomized_response(0.75).shuffled(1000),
    "nonadaptive(bounded_range(0.1), 100)": nonadaptive(bounded_range(0.1), 100),
    "pure(1).under('substitute')": pure(1).under("substitute"),
    "pure(1).parallel(2 * pure(0.5), relation='substitute')": pure(1).parallel(2 * pure(0.5), relation="substitute"),
    "sum([pure(1), pure(2), pure(1) + pure(3)])": pure(1) + pure(2) + pure(1) + pure(3),
    "sum([pure(1)] * 3) + pure(2)": pure(1) + pure(1) + pure(1) + pure(2),
    "sum([pure(1)])": pure(1),
    "tradeoff([(0, 0.9), (0.2, 0.5), (0.9, 0)])": tradeoff([(0, 0.9), (0.2, 0.5), (0.9, 0)]),
    "mu(sqrt(4))": mu(2),
    "pure(0)": PureLoss(Fraction(0)),
    "rho(0, 1e-6)": RhoLoss(Fraction(0), Fraction(1, 10**6)),
    "approx[1, 3/2]": ApproxLoss(Fraction(1), Fraction(3, 2)),
    "gaussian(1).group[1]": GroupLoss(1, gaussian(1)),
}


@pytest.mark.parametrize("text", MEANT)
def test_what_is_meant(text: str) -> None:
    assert from_text(text) == MEANT[text]


HOSTILE = [
    "",
    "   ",
    "1",
    "'pure(1)'",
    "__import__('os').system('true')",
    "__import__('os')",
    "pure.__globals__",
    "pure(1).__class__",
    "pure(1).__class__()",
    "pure(1).epsilon(0)",
    "(1).sampled(2)",
    "'a'.group(2)",
    "pure",
    "print(1)",
    "eval('1')",
    "lambda: pure(1)",
    "(lambda: pure(1))()",
    "[pure(1) for _ in range(9)]",
    "f'{pure(1)}'",
    "f'{1}' * pure(1)",
    "b'1' * pure(1)",
    "pure(1) if True else pure(2)",
    "(x := pure(1))",
    "x = pure(1)",
    "import os",
    "pure(1); pure(2)",
    "pure(1)[0]",
    "pure(*[1])",
    "pure(**{'epsilon': 1})",
    "pure(1)(2)",
    "pure(1) - pure(0.5)",
    "pure(1) / 2",
    "pure(1) * pure(1)",
    "2 ** 3 * pure(1)",
    "10 ** 10 ** 10 * pure(1)",
    "pure(10 ** 9)",
    "-1 * pure(1)",
    "1.5 * pure(1)",
    "1/2 * pure(1)",
    "True * pure(1)",
    "1j * pure(1)",
    "None",
    "...",
    "1 + pure(1)",
    "pure(1/0)",
    "pure(-1)",
    "pure(1e999)",
    "pure(1e-999)",
    "pure(nan)",
    "pure(inf)",
    "pure('nan')",
    "pure(True)",
    "pure()",
    "pure(1, 2)",
    "pure(1, epsilon=2)",
    "pure(eps=1)",
    "pure([1])",
    "rdp(2, 3)",
    "rdp([pure(1)], [1])",
    "rdp([], [])",
    "gaussian(pure(1))",
    "gaussian(1).sampled(2)",
    "gaussian(1).sampled(0.1, scheme='shuffle')",
    "gaussian(1).sampled(0.1, scheme=['poisson'])",
    "gaussian(1).sampled(loss=pure(1))",
    "gaussian(1).group(0)",
    "gaussian(1).group(1.5)",
    "gaussian(1).shuffled(10)",
    "approx(1, 2)",
    "nonadaptive(1, 2)",
    "pure(0x10, 0b1)",
    "9" * 100 + " * pure(1)",
    "9" * 3_900 + " * pure(1)",
    f"pure({'9' * 3_900})",
    "1000000000000000000 * pure(1)",
    "(" * 1_000 + "pure(1)" + ")" * 1_000,
    "+".join(["pure(1)"] * 400),
    "pure(1)" + ".group(2)" * 300,
    "[" * 900,
    "-" * 3_000 + "1",
    "pure(1)\x00",
    "pure(1)\n pure(2)",
    "pure(1) # a remark\n+",
    "pure(1)" + " " * 5_000 + ".",
    "\ud800",
    "纯(1)",
    "ｐure(1)",
    "gaussian(noise=1, noise=2)",
    "1000000000000000 * (1000000000000000 * pure(1))",
    "pure('')",
    "pure[-1]",
    "pure['1']",
    "pure[1e999]",
    "pure[1:2]",
    "pure[1, 2]",
    "pure[[1]]",
    "gaussian[1]",
    "pure[pure(1)]",
    "pure(1).sampled[1]",
    "(1).group[1]",
    "approx(0, 2)",
    "mu(sqrt(-1))",
    "mu(sqrt('2'))",
    "mu(sqrt(2), sqrt(2))",
    "mu(sqrt(1, 2))",
    "mu(sqrt(1e-300))",
    "rho(sqrt(2))",
    "sqrt(2)",
    "2 * sqrt(2)",
    "sum([])",
    "sum(pure(1))",
    "sum([1])",
    "sum([pure(1)], 2)",
    "sum([pure(1)] * -1)",
    "sum([pure(1)] * 10**9)",
    "sum([pure(1)] * 1000000000000)",
    "sum([sum([pure(1)] * 5000)] * 5000)",
    "sum([sum([pure(1)] * 5000).group(2)] * 5000)",
    "pure([1] * 1000000000000)",
    "rdp([[1, 2]], [1])",
    "rdp([2] * 3, [1] * 3)",
    "tradeoff([0, 1])",
    "tradeoff([(0, 1, 2)])",
    "tradeoff((0, 1))",
    "tradeoff([(0, 0.5), (0.2, 0.45), (0.4, 0)])",
    "tradeoff[[(0, 0.5), (0.2, 0.45), (0.4, 0)]]",
    "pure(1).parallel(2)",
    "pure(1).parallel([pure(2)])",
    "pure(1).parallel(pure(2), relation='edges')",
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:40])
def test_hostile_input_is_refused(text: str) -> None:
    with pytest.raises(ParameterError) as caught:
        from_text(text)
    assert len(str(caught.value)) < 400


@given(st.text(max_size=60) | st.text(alphabet="pure(1)+*. 'gaussinmpld_[]=,", max_size=60))
def test_any_text_is_a_loss_or_a_parameter_error(text: str) -> None:
    with suppress(ParameterError):
        from_text(text)


def test_a_slip_is_told_what_was_meant() -> None:
    with pytest.raises(ParameterError, match=r"no loss called 'gausian'; did you mean gaussian\? known are approx, "):
        from_text("gausian(1)")
    with pytest.raises(ParameterError, match=r"no method called 'sample'; did you mean sampled\? known are group, "):
        from_text("gaussian(1).sample(0.1)")
    with pytest.raises(ParameterError, match=r"it is called as approx\(epsilon, delta\)"):
        from_text("approx(1)")
    with pytest.raises(ParameterError, match=r"called as \.sampled\(rate, scheme='poisson'\)"):
        from_text("gaussian(1).sampled()")
