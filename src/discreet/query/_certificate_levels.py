"""One level of a query as certificate JSON: every number from which its loss follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, cast

from discreet.errors import LedgerError
from discreet.mechanisms import Exponential, PartitionSelection, PermuteAndFlip, Quantiles, ThresholdedCounts, TopK
from discreet.privacy import (
    ApproxLoss,
    Loss,
    MuLoss,
    PureLoss,
    Relation,
    SumLoss,
    currency,
    from_json,
    in_currency,
    parts,
    to_json,
)
from discreet.query.budget._modes import ModeNoise, mode_to_json
from discreet.query.budget._noise import (
    CountThreshold,
    KeyDiscovery,
    Level,
    Noise,
    NoiseMechanism,
    noise_from_json,
    noise_to_json,
    top_keys_to_json,
)
from discreet.query.budget._quantiles import quantile_to_json
from discreet.query.measures._bounded import public_groups
from discreet.query.measures._sensitivity import Limits
from discreet.rational import rational
from discreet.sensitivity import Norms

__all__ = ["LEVEL", "discovery_in", "level_to_json", "recompute_level_loss", "section"]


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
        "quantiles": [
            mode_to_json(each) if isinstance(each, ModeNoise) else quantile_to_json(each) for each in noise.quantiles
        ],
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


def _selection(selection: KeyDiscovery) -> dict[str, Any]:
    if not isinstance(selection, PartitionSelection):
        rule = selection if isinstance(selection, ThresholdedCounts) else selection.rule
        by = {"measure": selection.count} if isinstance(selection, CountThreshold) else noise_to_json(rule.noise)
        threshold = rule.threshold if isinstance(rule.threshold, int) else str(rule.threshold)
        return {"by": by, "threshold": threshold, "keys": rule.keys, "mechanism": "ThresholdedCounts"}
    return {
        "mechanism": "PartitionSelection",
        "epsilon": str(selection.epsilon),
        "delta": str(selection.delta),
        "keys": selection.keys,
        "concentrated": selection.concentrated,
    }


LEVEL = {
    "keys",
    "groups",
    "rows_per_unit",
    "groups_per_unit",
    "loss",
    "measures",
    "quantiles",
    "key_discovery",
    "top_keys",
}
_MEASURE = {"of", "step", "lower", "upper", "l1", "l2_squared", "linf", "mechanism"}
_ROWS = {"Count", "Distinct", "People"}
_SUMS = {"Sum", "Product"}


def section(data: object, names: set[str]) -> Mapping[str, Any]:
    """A JSON object with exactly these names; `LedgerError` for anything else, as what is not read is not checked."""
    if not isinstance(data, Mapping):
        raise LedgerError("it is not in the format of this version of discreet")
    fields = cast("Mapping[str, Any]", data)
    odd = sorted(names ^ set(fields), key=str)
    if odd:
        raise LedgerError(f"{odd[0]!r} is {'missing' if odd[0] in names else 'unknown to this version of discreet'}")
    return fields


def recompute_level_loss(data: Mapping[str, Any], relation: Relation) -> Loss:
    """What the mechanisms of a level lose together, as one node of the currency of the level's stated loss.

    Norms are worked out again from the caps and the limits of one row's part, and must be those stated. Where Gaussian
    noise is in a level in (ε, δ), its certified δ is that at the ε which the level's stated loss leaves to it, since
    one μ has many (ε, δ). Raises `LedgerError` or `ParameterError` for what cannot be read or contradicts itself.
    """
    stated = from_json(data["loss"])
    rows, groups_each = _integer(data["rows_per_unit"]), _integer(data["groups_per_unit"])
    groups = None if data["groups"] is None else _integer(data["groups"])
    twice = 2 if relation == "substitute" else 1
    if (groups is None) is (data["key_discovery"] is None):
        raise LedgerError(
            "private keys need a key discovery and public keys have none; the certificate states otherwise"
        )
    grouped = bool(_list(data["keys"]))
    if not grouped and groups != 1:
        raise LedgerError("a level without keys has one group; the certificate states otherwise")
    if groups is None and data["top_keys"] is not None:
        raise LedgerError("keys are chosen first where they are public alone; the certificate states otherwise")
    limits = [_limits(each, rows, groups_each, groups, grouped=grouped) for each in _list(data["measures"])]
    chosen = None if data["top_keys"] is None else _choice(data["top_keys"], limits, relation)
    lost = [] if chosen is None else [chosen[1]]
    for i, (each, limit) in enumerate(zip(data["measures"], limits, strict=True), 1):
        norms = limit.norms(relation) if chosen is None else limit.chosen(relation, chosen[0])
        if norms != Norms(each["l1"], each["l2_squared"], each["linf"]):
            raise LedgerError(f"measure {i} states a sensitivity that does not follow from its limits and the caps")
        lost.append(_noise(each).loss(norms))
    lost += [_draws(each, rows * twice) for each in _list(data["quantiles"])]
    discovery = discovery_in(data)
    if discovery is not None:
        lost.append(_discovery_loss(discovery, groups_each * twice, limits))
    return _together(lost, stated)


def _together(lost: Sequence[Loss], stated: Loss) -> Loss:
    name = currency(stated)
    gaussian = [loss for loss in lost if isinstance(loss, MuLoss)]
    if name != "approx" or not gaussian:
        return in_currency(SumLoss((PureLoss(Fraction(0)), *lost)), name)
    beside = [ApproxLoss(Fraction(0), loss.at_delta) if isinstance(loss, MuLoss) else loss for loss in lost]
    others = in_currency(SumLoss((PureLoss(Fraction(0)), *beside)), name)
    rest = parts(in_currency(stated, name))[0] - parts(others)[0]
    if rest < 0:
        return others
    noise = MuLoss(sum((loss.mu_squared for loss in gaussian), Fraction(0)))
    return in_currency(others + ApproxLoss(rest, Fraction(noise.delta(rest))), name)


def _limits(data: object, rows: int, groups_each: int, groups: int | None, *, grouped: bool) -> Limits:
    if not isinstance(data, Mapping):
        raise LedgerError("a measure is not in the format of this version of discreet")
    measure = cast("Mapping[str, Any]", data)
    section(measure, _MEASURE | ({"scale"} if measure.get("mechanism") == "DiscreteLaplace" else {"sigma"}))
    kind, lower, upper = measure["of"], _integer(measure["lower"], None), _integer(measure["upper"], None)
    if kind not in _ROWS | _SUMS or lower > upper or (kind in _ROWS and (lower, upper) != (0, 1)):
        raise LedgerError(f"a measure of the kind {kind!r} cannot have limits from {lower} to {upper}")
    return Limits(kind == "People", lower, upper, rows, groups_each, grouped, groups)


def _noise(measure: Mapping[str, Any]) -> NoiseMechanism:
    name = "scale" if measure["mechanism"] == "DiscreteLaplace" else "sigma"
    exact = str(rational(_text(measure[name]), name))
    return noise_from_json({"mechanism": measure["mechanism"], name: exact})


def _choice(data: object, limits: Sequence[Limits], relation: Relation) -> tuple[int, Loss]:
    """How many keys are chosen, and what the choice loses, of one count that is then measured on those keys."""
    top = section(data, {"mechanism", "k", "epsilon", "sensitivity", "monotone", "measure"})
    count, monotone = _integer(top["measure"]), top["monotone"]
    if top["mechanism"] != "TopK" or count >= len(limits) or monotone is not (relation == "add_remove"):
        raise LedgerError("the choice of keys is not one that this version of discreet makes")
    sensitivity = rational(_text(top["sensitivity"]), "sensitivity")
    moved = max(limits[count].norms(relation).linf, 1)
    choice = TopK(_integer(top["k"]), _text(top["epsilon"]), sensitivity, monotone=monotone)
    return choice.k, TopK(choice.k, choice.epsilon * moved / sensitivity, sensitivity, monotone=monotone).loss()


def _draws(data: object, moves: int) -> Loss:
    """What quantiles of one argument lose, or one mode."""
    if not isinstance(data, Mapping) or "values" not in data:
        return _quantiles(data, moves)
    fields = section(cast("object", data), {"mechanism", "values", "row_epsilon", "row_moves", "count_error"})
    kind = _MODES.get(fields["mechanism"])
    if kind is None or fields["row_moves"] != moves or _integer(fields["values"], 1) < 1:
        raise LedgerError("a mode states a mechanism or a number of rows that does not follow from the caps")
    epsilon = rational(_text(fields["row_epsilon"]), "row_epsilon") * moves
    return kind(epsilon, 1, monotone=True).loss()


_MODES: Mapping[object, type[Exponential] | type[PermuteAndFlip]] = {
    "Exponential": Exponential,
    "PermuteAndFlip": PermuteAndFlip,
}


def _quantiles(data: object, moves: int) -> Loss:
    names = {"mechanism", "method", "probabilities", "bounds", "step", "row_epsilon", "row_moves", "rank_error"}
    fields = section(data, names)
    if fields["mechanism"] != "Quantiles" or fields["row_moves"] != moves:
        raise LedgerError("the quantiles state a number of rows that does not follow from the caps")
    low, high = (_text(each) for each in _list(fields["bounds"]))
    asked = [_text(each) for each in _list(fields["probabilities"])]
    epsilon = rational(_text(fields["row_epsilon"]), "row_epsilon") * moves
    return Quantiles(asked, (low, high), epsilon, step=_text(fields["step"]), method=fields["method"]).loss()


def discovery_in(data: Mapping[str, Any]) -> KeyDiscovery | None:
    """How a level of a certificate discovers its private keys; None if it has none.

    Raises `LedgerError` or `ParameterError` for what cannot be read.
    """
    discovery = data["key_discovery"]
    if discovery is None:
        return None
    if not isinstance(discovery, Mapping):
        raise LedgerError(_NO_DISCOVERY)
    fields = cast("Mapping[str, Any]", discovery)
    keys = _integer(fields.get("keys"))
    match fields.get("mechanism"):
        case "ThresholdedCounts":
            section(fields, {"mechanism", "by", "threshold", "keys"})
            return _threshold(fields, keys, _list(data["measures"]))
        case "PartitionSelection":
            section(fields, {"mechanism", "epsilon", "delta", "keys", "concentrated"})
            if not isinstance(fields["concentrated"], bool):
                raise LedgerError(_NO_DISCOVERY)
            epsilon, delta = _text(fields["epsilon"]), _text(fields["delta"])
            return PartitionSelection(epsilon, delta, keys, concentrated=fields["concentrated"])
        case _:
            raise LedgerError(_NO_DISCOVERY)


_NO_DISCOVERY = "the discovery of keys is not in the format of this version of discreet"


def _threshold(fields: Mapping[str, Any], keys: int, measures: Sequence[Any]) -> KeyDiscovery:
    """A threshold for a measure, or for a count of people of its own."""
    by, threshold = fields["by"], fields["threshold"]
    threshold = threshold if isinstance(threshold, str) else _integer(threshold)
    if not isinstance(by, Mapping):
        raise LedgerError(_NO_DISCOVERY)
    noise = cast("Mapping[str, Any]", by)
    if "measure" not in noise:
        section(noise, {"mechanism", "scale" if noise.get("mechanism") == "DiscreteLaplace" else "sigma"})
        return ThresholdedCounts(_noise(noise), threshold, keys)
    count = _integer(section(noise, {"measure"})["measure"])
    if count >= len(measures):
        raise LedgerError("the discovery of keys is by a measure that the level does not have")
    return CountThreshold(count, ThresholdedCounts(_noise(measures[count]), threshold, keys))


def _discovery_loss(discovery: KeyDiscovery, touched: int, limits: Sequence[Limits]) -> Loss:
    keys = discovery.rule.keys if isinstance(discovery, CountThreshold) else discovery.keys
    if keys != touched:
        raise LedgerError("the discovery of keys states a number of keys that does not follow from the caps")
    if isinstance(discovery, CountThreshold) and not limits[discovery.count].counts_people:
        raise LedgerError("the discovery of keys is by a measure that is no count of people")
    return discovery.loss()


def _integer(value: object, least: int | None = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or (least is not None and value < least):
        raise LedgerError(f"something else stands in place of a whole number{'' if least is None else ', 0 or more'}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise LedgerError("a number that should be exact is not written as text")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise LedgerError("it is not in the format of this version of discreet")
    return cast("list[Any]", value)
