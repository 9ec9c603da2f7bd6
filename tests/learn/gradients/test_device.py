"""Where a network may be, and what holds on a GPU; ``bench/learning_device.py`` runs the arithmetic on one."""

from __future__ import annotations

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import nn

from discreet.errors import ParameterError
from discreet.learn.gradients import Fixed, Float, UnitGradients, _device
from discreet.learn.gradients._device import check_exact, check_workspace, described, repeatable, rows_at_once

GPU = torch.device("cuda")


def test_other_devices_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"network is on meta; .* call .cpu\(\) or .cuda\(\)"):
        UnitGradients(nn.Linear(2, 2, device="meta"), Fixed())


def test_a_network_in_two_places_is_refused() -> None:
    halves = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2, device="meta"))
    with pytest.raises(ParameterError, match="on cpu and meta: private training is on one device"):
        UnitGradients(halves, Fixed(), Float())
    buffer = nn.Sequential(nn.Linear(2, 2))
    buffer.register_buffer("scale", torch.ones(1, device="meta"))
    with pytest.raises(ParameterError, match="parameters and buffers"):
        UnitGradients(buffer, Fixed())


def test_sums_of_whole_numbers_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    check_exact(torch.device("cpu"))
    monkeypatch.setattr(_device, "_LEFT", 2**33)  # sums of 2⁶⁵ are more than float64 holds
    with pytest.raises(ParameterError, match="not exact on cpu"):
        check_exact(torch.device("cpu"))


@pytest.mark.parametrize("value", [None, ":0:0", "1"])
def test_products_in_another_order_each_time_are_refused(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    check_workspace(GPU)
    if value is None:
        monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")
    else:
        monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", value)
    check_workspace(torch.device("cpu"))
    with pytest.raises(ParameterError, match="CUBLAS_WORKSPACE_CONFIG"):
        check_workspace(GPU)


def test_algorithms_are_repeatable_for_as_long_as_a_batch_lasts() -> None:
    def settings() -> tuple[bool, ...]:
        cudnn = torch.backends.cudnn
        return torch.are_deterministic_algorithms_enabled(), cudnn.deterministic, cudnn.benchmark

    before = settings()
    with repeatable(torch.device("cpu")):
        assert settings() == before
    with repeatable(GPU):
        assert settings() == (True, True, False)
    assert settings() == before
    with pytest.raises(ParameterError, match="adds in another order each time"), repeatable(GPU):
        raise RuntimeError("adaptive_avg_pool2d_backward_cuda does not have a deterministic implementation")
    with pytest.raises(RuntimeError, match="out of memory"), repeatable(GPU):
        raise RuntimeError("out of memory")
    assert settings() == before


@given(rows=st.integers(0, 5_000), size=st.integers(0, 2**28))
@example(rows=7, size=2**26 + 1)
@example(rows=0, size=2**28)
def test_parts_are_equal_on_a_gpu(rows: int, size: int) -> None:
    values = torch.empty(rows, device="meta")
    part = rows_at_once(values, size, 1)
    assert 1 <= part <= max(rows, 1) and rows % part == 0
    assert part == 1 or part * size <= 2**26


def test_the_certificate_names_no_cpu() -> None:
    assert described(torch.device("cpu")) == {}
