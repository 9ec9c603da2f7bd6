"""The public settings of a training: what they may be, the noise that follows from them, and what compares them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import nn

from discreet.errors import DiscreetError, ParameterError
from discreet.learn.correlated import CorrelatedGaussian, Independent
from discreet.learn.gradients import Adaptive, Clipping, Exact, Fixed, Float, LengthCount, Normalised, UnitGradients
from discreet.learn.training._adam import DPAdam
from discreet.learn.training._count import NoisyCount, count_from_json, count_to_json, loss_with
from discreet.learn.training._mechanism import (
    check_spend_of_training,
    mechanism_for,
    mechanism_from_json,
    mechanism_of_multiplier,
    mechanism_to_json,
    sampling_for,
    share_of,
    spend_of_noise,
)
from discreet.learn.training._plan import TrainingPlan
from discreet.learn.training._rows import Tensors
from discreet.learn.training._weights import architecture_digest, weights_digest
from discreet.mechanisms import Gaussian
from discreet.privacy import Loss, from_json
from discreet.rational import Number
from discreet.records import Records

__all__ = ["Choices", "Settings", "choices_from", "settings_of"]

_COARSE = 1 << 20
"""Steps of the grid where noise is correlated, which has entries that are larger than the sums."""
_NUMBER = r"([0-9.e+-]{1,40})"
_FIXED = re.compile(rf"Fixed\(bound={_NUMBER}\)")
_NORMALISED = re.compile(rf"Normalised\(bound={_NUMBER}, stability={_NUMBER}\)")


@dataclass(frozen=True)
class Choices:
    """What the caller of `Private` chose, as its parameters are; `people` is its ``about``.

    Of a training that was begun before `mechanism` is its noise, in place of what would follow from the others, and
    `people` that of its count.
    """

    steps: int
    people: int | NoisyCount | Gaussian
    spend: Loss | None
    multiplier: Number | None
    delta: Number | None
    rate: Number | None
    epochs: int | None
    clip: float | Clipping | Adaptive
    noise: Literal["independent", "auto"]
    arithmetic: Literal["exact", "float"]
    places: int
    average: bool
    name: str
    mechanism: CorrelatedGaussian | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Settings:
    """A training that was checked. All of it is public.

    Attributes
    ----------
    mechanism, spend
        The noise of all steps, and what is charged.
    gradients
        The contributions, with their clipping and arithmetic.
    grid
        Into how many steps the most that a person adds is divided.
    clip
        The most that a person adds to the gradient of the loss; in the first step, where it moves.
    count
        The entry of each sum that moves the clip, if it moves.
    counting, people
        The noise of the count of people, if they are counted; and about how many there are, None until it is known.
    places, rows_per_unit
        Rows of a microbatch, and the most of one person.
    compared
        What makes a training another one, beside the noise and the records, in plain JSON; with the first weights.
    """

    mechanism: CorrelatedGaussian
    spend: Loss
    gradients: UnitGradients
    grid: int
    clip: float
    count: LengthCount | None
    counting: Gaussian | None
    people: int | None
    places: int
    rows_per_unit: int
    compared: dict[str, Any]

    @property
    def steps(self) -> int:
        """How many steps draw noise."""
        return self.mechanism.sampling.steps

    @property
    def divisor(self) -> float | None:
        """By which sums in whole numbers are divided to be gradients: in the first step, where the clip moves."""
        return None if self.people is None else self._people_of_a_step(self.people) * (self.grid / self.clip)

    def with_people(self, people: int) -> Settings:
        """The same, where about so many people there are."""
        count = None if self.count is None else replace(self.count, people=self._people_of_a_step(people))
        return replace(self, people=people, count=count)

    def _people_of_a_step(self, people: int) -> float:
        return float(share_of(self.mechanism.sampling)) * people

    def inform(self, optimizer: torch.optim.Optimizer) -> None:
        """Tell an optimiser that wants to know it the variance of the noise in a gradient, once that is known."""
        if isinstance(optimizer, DPAdam) and self.people is not None:
            optimizer.noise_variance = self.plan().noise ** 2

    @property
    def by_unit(self) -> bool:
        """Whether a person may have more rows than one."""
        return self.rows_per_unit > 1

    def plan(self) -> TrainingPlan:
        """As `Private.plan`."""
        return TrainingPlan(
            self.mechanism,
            self.spend,
            self.divisor,
            self.clip / self.grid,
            self.gradients.arithmetic.certificate,
            None if self.count is None else self.count.adaptive.quantile,
            self.counting,
            self.people,
        )

    def accept(self, public: Any) -> None:
        """Take a checkpoint's first weights as those of this training. Raises `ParameterError` if all else differs."""
        ours = {name: value for name, value in self.compared.items() if name != "weights"}
        theirs = {name: public.get(name) for name in ours}
        if ours != theirs or public.get("noise") != mechanism_to_json(self.mechanism):
            changed = [name for name in ours if ours[name] != theirs[name]] or ["noise, rate or steps"]
            raise ParameterError(f"the checkpoint is of another training: it differs in {', '.join(changed)}")
        weights = public.get("weights")
        if not isinstance(weights, str):
            raise ParameterError("the checkpoint is of another training: it has no first weights")
        self.compared["weights"] = weights


def settings_of(
    net: nn.Module, optimizer: torch.optim.Optimizer, data: Records | Tensors, choices: Choices
) -> Settings:
    """Check everything that a training is made of. Raises `ParameterError` for what cannot be trained."""
    _check(data, choices)
    clip = choices.clip
    asked = Fixed(float(clip)) if isinstance(clip, int | float) else clip
    if not isinstance(asked, Fixed | Normalised | Adaptive):
        raise ParameterError(f"clip is a number, Fixed, Normalised or Adaptive, whose bounds are proved, not {clip!r}")
    clipping = Fixed(float(asked.start)) if isinstance(asked, Adaptive) else asked
    grid = _COARSE if choices.noise == "auto" else Exact().steps
    kinds: dict[str, Exact | Float] = {"exact": Exact(grid), "float": Float()}
    if choices.arithmetic not in kinds:
        raise ParameterError(f"arithmetic is 'exact' or 'float', not {choices.arithmetic!r}")
    gradients = UnitGradients(net, clipping, kinds[choices.arithmetic])
    _check_optimizer(net, optimizer, gradients)
    rows = _rows_per_unit(data)
    if rows > choices.places:
        raise ParameterError(f"a person may have {rows} rows: give as many places or more")
    # A float sum is rounded to the grid, which moves it by less than one step more in each entry.
    bound = grid + (math.isqrt(gradients.size) + 1 if choices.arithmetic == "float" else 0)
    count = LengthCount.on_grid(asked, grid, 1) if isinstance(asked, Adaptive) else None
    size = gradients.size + (0 if count is None else 1)
    mechanism, counting, spend = _noise_of(choices, bound if count is None else count.bound(bound), size)
    compared: dict[str, Any] = {
        "network": architecture_digest(net),
        "optimizer": repr(optimizer),
        "weights": weights_digest(net),
        "clipping": repr(asked),
        "arithmetic": choices.arithmetic,
        "about": choices.people if counting is None else count_to_json(counting),
        "places": choices.places,
        "average": bool(choices.average),
        "name": choices.name,
    }
    if gradients.device.type != "cpu":
        compared["device"] = gradients.device.type
    if count is not None:
        compared["clip_count"] = {"grid": grid, "weight": count.weight}
    settings = Settings(
        mechanism, spend, gradients, grid, float(clipping.bound), count, counting, None, choices.places, rows, compared
    )
    if isinstance(choices.people, int):
        settings = settings.with_people(choices.people)
    if isinstance(optimizer, DPAdam):
        if count is not None:
            raise ParameterError(
                "DPAdam knows one variance of noise, and a clip that moves moves it: use another optimiser"
            )
        if not isinstance(mechanism.strategy, Independent):
            raise ParameterError("DPAdam knows the variance of independent noise alone: use noise='independent'")
    settings.inform(optimizer)
    return settings


def _check(data: object, choices: Choices) -> None:
    people, places = choices.people, choices.places
    if not isinstance(data, Records | Tensors):
        raise ParameterError(
            f"training takes its rows itself, by coins that the loss is for: give records, as in session.records("
            f"query, label=…), or learn.Tensors(x, y), not {type(data).__name__}"
        )
    is_number = isinstance(people, int) and not isinstance(people, bool) and people >= 1
    if not is_number and not isinstance(people, NoisyCount | Gaussian):
        raise ParameterError(
            f"about is a whole number of people, 1 or more, or learn.NoisyCount(), which buys it, not {people!r}"
        )
    if isinstance(places, bool) or not isinstance(places, int) or not 4 <= places <= 65_536:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"places is a number of rows from 4 to 65,536, not {places!r}")
    spend, multiplier = choices.spend, choices.multiplier
    if (spend is None) == (multiplier is None) or (multiplier is None) != (choices.delta is None):
        raise ParameterError("say what to spend, or in its place the noise: multiplier=1.1, delta=1e-6")
    if spend is not None and not isinstance(spend, Loss):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError('spend must be a loss, for example dp.approx(3, "1e-6")')


def _check_optimizer(net: nn.Module, optimizer: torch.optim.Optimizer, gradients: UnitGradients) -> None:
    known = {id(each) for each in gradients.parameters.values()}
    theirs = {id(each) for group in optimizer.param_groups for each in group["params"]}
    if theirs - known - {id(each) for each in net.parameters()}:
        raise ParameterError("the optimiser has parameters that are not the network's")
    if known - theirs:
        raise ParameterError("some trained parameters are not in the optimiser: freeze them, or give it all of them")


def _rows_per_unit(data: Records | Tensors) -> int:
    if isinstance(data, Tensors):
        return data.rows_per_unit if data.units is not None else 1
    bounded = data.plan.rows.bounded
    return 1 if bounded.unit is None else bounded.max_rows


def _noise_of(choices: Choices, bound: int, size: int) -> tuple[CorrelatedGaussian, Gaussian | None, Loss]:
    """The noise of the steps, that of the count of people, if they are counted, and what is charged for both."""
    people, spend = choices.people, choices.spend
    counting = people if isinstance(people, Gaussian) else None
    if choices.mechanism is not None and spend is not None:
        begun = choices.mechanism
        if begun.bound != bound or begun.size != size or not loss_with(counting, begun.loss).fits(spend):
            raise ParameterError("the checkpoint is of another training: its noise is for another network or clip")
        return begun, counting, spend
    if spend is not None:
        check_spend_of_training(spend)
        if isinstance(people, NoisyCount):
            counting = people.within(spend)
        mechanism = mechanism_for(
            spend, choices.steps, rate=choices.rate, epochs=choices.epochs, noise=choices.noise, bound=bound, size=size,
            beside=0 if counting is None else 1 / counting.sigma**2,
        )  # fmt: skip
        return mechanism, counting, spend
    assert choices.multiplier is not None and choices.delta is not None
    taken = sampling_for(choices.steps, rate=choices.rate, epochs=choices.epochs)
    mechanism = mechanism_of_multiplier(choices.multiplier, taken, bound=bound, size=size)
    if isinstance(people, NoisyCount):
        counting = people.beside(spend_of_noise(mechanism.loss, choices.delta))
    return mechanism, counting, spend_of_noise(loss_with(counting, mechanism.loss), choices.delta)


def choices_from(public: Any) -> tuple[str, str | None, Choices]:
    """The query, the label and the settings that a checkpoint states, which may be anybody's; see `settings_of`.

    Raises `ParameterError` if it states none.
    """
    try:
        return _stated(public)
    except (DiscreetError, ValueError, OverflowError):
        raise ParameterError("the checkpoint states no training that can be gone on with") from None


def _stated(public: Any) -> tuple[str, str | None, Choices]:
    match public:
        case {
            "query": str(query), "label": str() | None as label, "noise": noise, "loss": loss, "about": counted,
            "clipping": str(clipping), "arithmetic": "exact" | "float" as arithmetic, "places": int(places),
            "average": bool(average), "name": str(name),
        }:  # fmt: skip
            mechanism, spend = mechanism_from_json(noise), from_json(loss)
            people = counted if type(counted) is int else count_from_json(counted)
        case _:
            raise ValueError
    kind = _kind_of(mechanism, arithmetic)
    clip = _clipping_of(clipping)
    return query, label, Choices(
        mechanism.sampling.steps, people, spend, None, None, None, None, clip, kind, arithmetic, places, average, name,
        mechanism,
    )  # fmt: skip


def _kind_of(mechanism: CorrelatedGaussian, arithmetic: str) -> Literal["independent", "auto"]:
    """Which of the two it was, by the grid: that of ``"auto"`` is the coarse one."""
    slack = math.isqrt(mechanism.size) + 1 if arithmetic == "float" else 0
    return "auto" if mechanism.bound - slack == _COARSE else "independent"


def _clipping_of(text: str) -> Clipping:
    fixed, normalised = _FIXED.fullmatch(text), _NORMALISED.fullmatch(text)
    if fixed is not None:
        return Fixed(float(fixed[1]))
    if normalised is not None:
        return Normalised(float(normalised[1]), float(normalised[2]))
    raise ValueError(text)
