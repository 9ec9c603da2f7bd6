"""What one level of a query runs, as a certificate says it: every number from which its loss follows."""

from __future__ import annotations

from typing import Any

from discreet.mechanisms import PartitionSelection
from discreet.privacy import to_json
from discreet.query.budget._noise import Level, Noise, noise_to_json, top_keys_to_json
from discreet.query.budget._quantiles import quantile_to_json
from discreet.query.measures._bounded import public_groups

__all__ = ["level_to_json"]


def level_to_json(level: Level) -> dict[str, Any]:
    """The caps of a level with a spend, its noise and its cost, in plain JSON; numbers that are not whole as text.

    Each measure has the limits of one row's part, the norms that follow from them and the caps, and the noise that was
    calibrated to those norms: all in whole numbers, of which one is a `step` in the unit of the column. Where keys are
    chosen first, the norms are those of the chosen keys, and `top_keys` has what the choice was calibrated to.
    """
    bounded, noise = level.bounded, level.noise
    assert noise is not None
    return {
        "keys": [key.name for key in bounded.keys],
        "groups": public_groups(bounded.keys),
        "rows_per_unit": bounded.max_rows,
        "groups_per_unit": bounded.groups_per_unit,
        "loss": to_json(noise.loss),
        "measures": _measures(level, noise),
        "quantiles": [quantile_to_json(each) for each in noise.quantiles],
        "key_discovery": None if noise.selection is None else _selection(noise.selection),
        "top_keys": None if noise.top_keys is None else top_keys_to_json(noise.top_keys),
    }


def _measures(level: Level, noise: Noise) -> list[dict[str, Any]]:
    norms = level.norms if noise.top_keys is None else noise.top_keys.norms
    return [
        {
            "of": type(measure).__name__,
            "step": str(getattr(measure, "step", 1)),
            "lower": measure.lower,
            "upper": measure.upper,
            "l1": moved.l1,
            "l2_squared": moved.l2_squared,
            "linf": moved.linf,
            **noise_to_json(mechanism),
        }
        for measure, moved, mechanism in zip(level.bounded.measures, norms, noise.mechanisms, strict=True)
    ]


def _selection(selection: PartitionSelection) -> dict[str, Any]:
    return {
        "mechanism": "PartitionSelection",
        "epsilon": str(selection.epsilon),
        "delta": str(selection.delta),
        "keys": selection.keys,
        "concentrated": selection.concentrated,
    }
