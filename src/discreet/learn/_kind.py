"""The kind of release that a model is."""

from __future__ import annotations

from discreet.learn._model import Model
from discreet.learn._verify import recompute_model_loss, verify_model_loss
from discreet.release import ReleaseKind, register

__all__ = ["KIND"]

KIND = register(ReleaseKind("model", Model.from_bytes, Model.digests, recompute_model_loss, verify_model_loss))
