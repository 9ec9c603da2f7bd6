"""Checkpoints and networks in files that anybody may have spoilt: house errors alone, and no code is run."""

from __future__ import annotations

import base64
import json
import random
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import safetensors.torch
import torch
from damage import damaged_bytes, damaged_json, damaged_tensors, watched, written
from trainings import POLICY, broken_off, network, training

import discreet as dp
from discreet import learn
from discreet.errors import DataError, DiscreetError, LedgerError
from discreet.learn.training._checkpoint import _digest, read_checkpoint
from discreet.ledger import verify_release
from discreet.release import load, parse_release_file

DAILY, SOAK = 60, 10_000
TIMES = pytest.mark.parametrize("times", [DAILY, pytest.param(SOAK, marks=pytest.mark.soak)])


def forged(payload: bytes, dice: random.Random) -> bytes:
    """A checkpoint with other content and the digest that belongs to it, as somebody would write who wants harm."""
    (length,) = struct.unpack("<Q", payload[:8])
    text = json.loads(payload[8 : 8 + length])["__metadata__"]["training"]
    tensors = safetensors.torch.load(payload)
    head = json.loads(text)
    if dice.random() < 0.7:
        part = dice.choice(["optimizer", "step", "run", "public"])
        changed = damaged_json({part: head[part]}, dice)
        head = {**head, **changed} if isinstance(changed, dict) else changed
    else:
        head = damaged_json(head, dice)
    for name in dice.sample(sorted(tensors), dice.choice([0, 0, 1, 2])):
        match dice.randrange(5):
            case 0:
                del tensors[name]
            case 1:
                tensors[dice.choice(["weights.x", "optimizer.0.x", "optimizer.9.exp_avg", "optimizer.x", "noise"])] = (
                    tensors[name].clone()
                )
            case 2:
                tensors[name] = tensors[name].to(dice.choice([torch.int64, torch.bool, torch.float64, torch.float16]))
            case 3:
                tensors[name] = torch.full_like(tensors[name], dice.choice([0, 1]))
            case _:
                tensors[name] = torch.zeros(dice.choice([(), (0,), (1,), (3, 3), (1, 2, 3, 4)]))
    text = written(head).decode()
    metadata = {"format": "1", "training": text, "digest": _digest(text, tensors)}
    return safetensors.torch.save({name: each.clone() for name, each in tensors.items()}, metadata)


@TIMES
def test_damaged_checkpoints_end_in_house_errors_and_run_nothing(
    session: dp.Session, tmp_path: Path, times: int
) -> None:
    path, bad = tmp_path / "net.ckpt", tmp_path / "bad.ckpt"
    broken_off(session, path, at=40, every=1)
    whole, dice, read, restored = path.read_bytes(), random.Random(times), 0, 0
    net, trainer = training(session)
    private = trainer._private
    with watched() as events:
        for _ in range(times):
            make = dice.choice([damaged_bytes, damaged_tensors, forged, forged])
            bad.write_bytes(make(whole, dice))
            try:
                saved = read_checkpoint(bad)
            except DataError:
                continue
            read += 1
            try:
                private._settings.accept(saved.public)
                saved.restore(net, private._optimizer)
                noise = private._settings.mechanism.resume(saved.noise, 11)
            except DiscreetError:
                continue
            noise.next(12)
            for each in net.parameters():
                each.grad = torch.ones_like(each)
            private._optimizer.step()
            restored += 1
    assert not events, events[:3]
    assert 0 < restored < read < times


@pytest.mark.parametrize("times", [1, pytest.param(300, marks=pytest.mark.soak)])
def test_a_training_goes_on_from_a_damaged_checkpoint_or_is_refused_in_words(
    table: pa.Table, tmp_path: Path, times: int
) -> None:
    """All of it, with the ledger: what is refused has begun no step, and what goes on ends."""
    dice, refused = random.Random(times), 0
    for number in range(times):
        path = tmp_path / f"{number}.ckpt"
        with dp.connect({"visits": table}, POLICY) as session:
            broken_off(session, path, at=40, every=1)
            path.write_bytes(forged(path.read_bytes(), dice))
            spent = session.spent
            try:
                training(session, network(2))[1].fit(path, 6)
            except DiscreetError:
                refused += 1
            assert session.spent == spent
    assert refused or times < 10


@TIMES
def test_damaged_networks_end_in_house_errors_and_run_nothing(session: dp.Session, tmp_path: Path, times: int) -> None:
    trained = training(session)[1].fit()
    content, dice, path = trained.to_dict(), random.Random(times), tmp_path / "bad.net"
    path.write_bytes(trained.to_bytes())
    _use(trained, path, trained.to_bytes())  # what is imported when first used is imported here
    read = 0
    with watched() as events:
        for _ in range(times):
            payload = _damaged_network(content, trained, dice)
            try:
                loaded = learn.Network.from_bytes(payload)
            except LedgerError:
                continue
            read += 1
            path.write_bytes(payload)
            _use(loaded, path, payload)
    assert not events, events[:3]
    assert 0 < read < times


def _damaged_network(content: dict[str, Any], trained: learn.Network, dice: random.Random) -> bytes:
    match dice.randrange(4):
        case 0:
            return damaged_bytes(trained.to_bytes(), dice)
        case 1:
            weights = base64.b64encode(damaged_tensors(trained.payload, dice)).decode()
            return json.dumps({**content, "weights": weights}).encode()
        case 2:
            part = {name: content[name] for name in ("format", "inputs", "loss")}
            return written({**content, **damaged_json(part, dice)})
        case _:
            return written(damaged_json(content, dice))


def _use(loaded: learn.Network, path: Path, payload: bytes) -> None:
    """All that one does with a network; an error is one of the house."""
    asked = (
        lambda: load(path),
        lambda: repr(loaded),
        loaded._repr_html_,
        loaded.to_bytes,
        lambda: loaded.encode([[30.0, "a"]]),
        lambda: loaded.load_into(network(3)),
        lambda: list(verify_release(parse_release_file(payload))),
    )
    for each in asked:
        try:
            each()
        except DiscreetError:
            continue
