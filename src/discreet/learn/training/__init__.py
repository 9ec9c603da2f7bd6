"""Private training of networks with torch: one's own loop or none, charged whole, with checkpoints."""

from discreet.errors import MissingExtra

try:
    import safetensors.torch as _safetensors
    import torch as _torch
except ImportError:
    raise MissingExtra("training needs torch and safetensors: pip install 'discreet[torch]'") from None

from discreet.learn.training._adam import DPAdam
from discreet.learn.training._count import NoisyCount
from discreet.learn.training._distributed import Processes, Worker
from discreet.learn.training._loop import Batch
from discreet.learn.training._network import NETWORK_KIND, Network
from discreet.learn.training._plan import TrainingPlan
from discreet.learn.training._private import Private, resume
from discreet.learn.training._rows import Tensors
from discreet.learn.training._trainer import Trainer

__all__ = [
    "NETWORK_KIND",
    "Batch",
    "DPAdam",
    "Network",
    "NoisyCount",
    "Private",
    "Processes",
    "Tensors",
    "Trainer",
    "TrainingPlan",
    "Worker",
    "resume",
]

del _safetensors, _torch
