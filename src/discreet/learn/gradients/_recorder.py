"""Listens to one forward and backward pass, and turns each layer's inputs and output gradients into pieces."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from discreet.errors import ParameterError
from discreet.learn.gradients._capture import Capture
from discreet.learn.gradients._dropout import Dropout, dropouts_of, withheld
from discreet.learn.gradients._functional import functional
from discreet.learn.gradients._layers import linear, turned_linear
from discreet.learn.gradients._pieces import Piece, by_unit, combined
from discreet.learn.gradients._rules import ROWS_MAY_BE_SECOND, Place, places, refuse, uncompiled

__all__ = ["Recorder"]


def unchanged(piece: Piece) -> Piece:
    return piece


@dataclass(slots=True)
class Call:
    """One call of a layer, waiting for the gradients of what it gave out."""

    place: Place
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    versions: list[int]
    gradients: list[Tensor | None] = field(default_factory=list[Tensor | None])
    waiting: int = 0


class Rooted(torch.autograd.Function):
    """A tensor without a history gets one, of which the root is all: it is the same tensor afterwards."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, _: Tensor) -> Tensor:
        ctx.mark_dirty(tensor)
        return tensor

    @staticmethod
    def backward(ctx: Any, *_: Any) -> tuple[None, None]:  # noqa: ARG004
        return None, None


class Apart(torch.autograd.Function):
    """The same numbers in the same memory, no longer as a view: what writes over them moves no hook to elsewhere.

    For what nothing else reads, and no backward pass has kept: what a linear layer gave out.
    """

    @staticmethod
    def forward(_: Any, tensor: Tensor) -> Tensor:
        shape = (tensor.storage_offset(), tensor.size(), tensor.stride())
        return torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(tensor.untyped_storage(), *shape)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:  # noqa: ARG004
        return gradients[0]


class Recorder:
    """Per-row gradients of the trained parameters of `model`, from one backward pass.

    Use::

        with recorder.listening(rows=len(x)):
            losses = loss(model(x), y)          # one a row
            pieces = recorder.backward(losses)

    While it listens, no parameter asks torch for a gradient, and hooks are on the model's layers; afterwards both are
    as before. Modules are never replaced. What `torch.compile` made runs as it was written meanwhile, since no hook is
    called inside a compiled graph. Raises `ParameterError` at once for a model without per-row gradients.
    """

    def __init__(self, model: nn.Module) -> None:
        model = uncompiled(model)
        refuse(model)
        self.model = model
        self.parameters = {name: each for name, each in model.named_parameters() if each.requires_grad}
        """Those trained, by name, tied ones once, in the order of their gradients."""
        self._names = {id(each): name for name, each in self.parameters.items()}
        self._places = tuple(places(model))
        self._reset()

    def _reset(self) -> None:
        self._calls: list[Call] = []
        self._roots: list[Tensor] = []
        self._pieces: dict[str, list[Piece]] = {}
        self._dropouts: tuple[Dropout, ...] = ()
        self._rows = 0
        self._listening = False
        self._arrange: Callable[[Piece], Piece] = unchanged

    @contextmanager
    def listening(self, rows: int = 1) -> Generator[None]:
        """Hooks are on and parameters still for as long as this lasts.

        Given how many rows the batch has, a layer that reads one line for all of them (of positions, as in BERT) gives
        it out once for each row, so that each has a gradient of its own.

        Raises `ParameterError` if the model couples rows now: layers may have been switched to training since.
        """
        refuse(self.model)
        self._reset()
        self._rows, self._dropouts = rows, dropouts_of(self.model)
        for layer in self._dropouts:
            layer.axes = set()
        before = [(parameter, parameter.requires_grad) for parameter in self.parameters.values()]
        handles = [place.layer.register_forward_hook(self._hook(place), with_kwargs=True) for place in self._places]
        for parameter in self.parameters.values():
            parameter.requires_grad = False
        self._listening = True
        try:
            with torch.enable_grad(), as_written():
                yield
        finally:
            for handle in handles:
                handle.remove()
            for parameter, asked in before:
                parameter.requires_grad = asked
            self._reset()

    def _hook(self, place: Place) -> Callable[..., Any]:
        def hook(_: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any) -> Any:
            if not self._listening or not torch.is_grad_enabled():
                return None
            versions = [version(leaf) for leaf in tensors_in((arguments, keywords))]
            if self._is_shared(place, arguments, keywords, output):
                arguments, keywords, output = pytree.tree_map(self._for_each_row, (arguments, keywords, output))
            call = Call(place, pytree.tree_map(detached, arguments), pytree.tree_map(detached, keywords), versions)
            self._calls.append(call)

            def heard(leaf: Any) -> Any:
                return self._heard(call, leaf)

            return pytree.tree_map(heard, output)

        return hook

    def _is_shared(self, place: Place, *trees: Any) -> bool:
        """Whether a layer was given, and gives out, one line for all rows of the batch."""
        if self._rows == 1 or isinstance(place.layer, ROWS_MAY_BE_SECOND):
            return False
        leaves = tensors_in(trees)
        return bool(leaves) and all(leaf.shape[:1] == (1,) and leaf.dim() > 1 for leaf in leaves)

    def _for_each_row(self, leaf: Any) -> Any:
        return leaf.expand(self._rows, *leaf.shape[1:]) if isinstance(leaf, Tensor) else leaf

    def _heard(self, call: Call, leaf: Any) -> Any:
        """An output of a layer, from now on with a hook for its gradient."""
        if not isinstance(leaf, Tensor):
            return leaf
        place = len(call.gradients)
        call.gradients.append(None)
        if not leaf.is_floating_point():
            return leaf
        if not leaf.requires_grad:
            # The first layer: from here on there is something to differentiate by, also if it is written in place.
            root = torch.zeros((), device=leaf.device, requires_grad=True)
            self._roots.append(root)
            fresh = call.place.rule is not functional and not is_view(leaf)
            leaf = Rooted.apply(leaf if fresh else leaf.clone(), root)
            assert isinstance(leaf, Tensor)
        elif is_view(leaf):
            leaf = Apart.apply(leaf) if call.place.rule in (linear, turned_linear) else leaf.clone()
            assert isinstance(leaf, Tensor)
        call.waiting += 1
        leaf.register_hook(partial(self._arrived, call, place))
        return leaf

    def _arrived(self, call: Call, place: int, gradient: Tensor | None) -> None:
        call.waiting -= 1
        if gradient is not None:  # as torch says that no loss depends on it
            if gradient.dtype != torch.float32:
                raise ParameterError(
                    f"layer {call.place.name!r} ran in {gradient.dtype}; private training is in torch.float32: leave "
                    "out autocast and .double()"
                )
            call.gradients[place] = gradient.detach()
        if not call.waiting and any(each is not None for each in call.gradients):
            self._finish(call)

    def _finish(self, call: Call) -> None:
        place = call.place
        if any(
            version(a) != b for a, b in zip(tensors_in((call.arguments, call.keywords)), call.versions, strict=True)
        ):
            raise ParameterError(
                f"what layer {place.name!r} was given was overwritten in place after it was used, so its gradient is "
                "lost; write x = x + y rather than x += y"
            )
        capture = Capture(place.name, call.arguments, call.keywords, tuple(call.gradients), self._rows)
        self._listening = False  # rules may call the layer once more
        try:
            with torch.no_grad():
                pieces = place.rule(place.layer, capture, place.trained)
        finally:
            self._listening = True
        owned = dict(place.layer.named_parameters(remove_duplicate=False))
        for name in sorted(pieces):
            piece = pieces.pop(name)
            self._pieces.setdefault(self._names[id(owned[name])], []).append(self._arrange(piece))
        call.arguments, call.keywords, call.gradients, call.waiting = (), {}, [], -1

    def backward(
        self, losses: Tensor, units: Tensor | None = None, arrange: Callable[[Piece], Piece] = unchanged
    ) -> dict[str, Piece]:
        """The gradients of each row's loss by parameter, or of each unit's, summed over its rows.

        `losses` has one entry a row. `units` names each row's unit by a number below the number of rows, and by the
        number of rows itself rows that are padding. A parameter that no loss depends on is left out.
        Each piece is given to `arrange` once it is there, if every row is a unit of its own: what a piece is made of is
        let go then, and what it becomes is held.

        Raises `ParameterError` for a loss that is no vector and for layers that do not keep rows apart.
        """
        if not self._listening:
            raise ParameterError("backward belongs inside `with recorder.listening():`, after the forward pass")
        if losses.dim() != 1 or not losses.requires_grad or not self._roots:
            raise ParameterError(
                "private training needs the losses of the rows one by one, a vector of them that depends on the "
                "model's parameters: use reduction='none', and take no mean or sum"
            )
        self._rows, self._arrange = len(losses), arrange if units is None else unchanged
        self._check_masks()
        with withheld(self._dropouts):
            torch.autograd.grad(losses.sum(), self._roots, allow_unused=True)
            for call in self._calls:
                if call.waiting > 0 and any(gradient is not None for gradient in call.gradients):
                    self._finish(call)
        pieces = {name: combined(self._pieces.pop(name)) for name in self.parameters if name in self._pieces}
        self._calls, self._pieces, self._roots = [], {}, []
        if units is not None:
            return {name: by_unit(piece, units) for name, piece in pieces.items()}
        return pieces

    def _check_masks(self) -> None:
        """Raise `ParameterError` if a mask was drawn of another axis than the rows: rows would share it."""
        if any(axis != self._rows for layer in self._dropouts for axis in layer.axes):
            raise ParameterError(
                f"learn.Dropout was given a tensor whose first axis is not the {self._rows} rows of the batch: each "
                "row has a mask of its own, so put the rows first, and expand what is shared by all rows"
            )


def as_written() -> AbstractContextManager[Any]:
    """What was compiled runs as it was written for as long as this lasts, in all threads."""
    if "torch._dynamo" in sys.modules:  # otherwise nothing was compiled, and loading the compiler takes a second
        return torch.compiler.set_stance("force_eager")
    return nullcontext()


def tensors_in(tree: Any) -> list[Tensor]:
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, Tensor)]


def detached(leaf: Any) -> Any:
    return leaf.detach() if isinstance(leaf, Tensor) else leaf


def version(tensor: Tensor) -> int:
    return tensor._version  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def is_view(tensor: Tensor) -> bool:
    return tensor._base is not None  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
