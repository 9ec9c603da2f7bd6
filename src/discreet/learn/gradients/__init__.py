"""Per-unit gradients of torch models in one backward pass: clipped, and summed exactly.

Nothing here draws noise; `Dropout` draws its masks.

What these functions return is private; the trainer adds noise and charges. Importing this sets ``MKL_CBWR=AUTO`` unless
the environment has another value: Intel's library then adds in the same order in every row of a product. So does
NVIDIA's with ``CUBLAS_WORKSPACE_CONFIG=:4096:8``, each time.
"""

import os

try:
    import torch as _torch
except ImportError:
    from discreet.errors import MissingExtra

    raise MissingExtra("training needs torch: pip install 'discreet[torch]'") from None

os.environ.setdefault("MKL_CBWR", "AUTO")  # read once, at the first product
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

from discreet.learn.gradients._adaptive import Adaptive, LengthCount
from discreet.learn.gradients._clipping import LEAST_BOUND, MOST_BOUND, Clipping, Fixed, Normalised
from discreet.learn.gradients._device import described
from discreet.learn.gradients._dropout import Dropout
from discreet.learn.gradients._exact import Exact
from discreet.learn.gradients._float import Float
from discreet.learn.gradients._probe import Column, Losses, probe
from discreet.learn.gradients._rows_apart import (
    PrivateRows,
    check_rows_apart,
    microbatches,
    outputs_of,
    tensors_digest,
)
from discreet.learn.gradients._rules import uncompiled
from discreet.learn.gradients._unit_gradients import UnitGradients, contributions

__all__ = [
    "LEAST_BOUND",
    "MOST_BOUND",
    "Adaptive",
    "Clipping",
    "Column",
    "Dropout",
    "Exact",
    "Fixed",
    "Float",
    "LengthCount",
    "Losses",
    "Normalised",
    "PrivateRows",
    "UnitGradients",
    "check_rows_apart",
    "contributions",
    "described",
    "microbatches",
    "outputs_of",
    "probe",
    "tensors_digest",
    "uncompiled",
]

del _torch, os
