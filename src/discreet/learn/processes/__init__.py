"""What the processes of a group of torch.distributed give one another, and the shards of a network that they hold."""

from discreet.learn.processes._shards import Shards, is_sharded
from discreet.learn.processes._wire import HEADER, Wire

__all__ = ["HEADER", "Shards", "Wire", "is_sharded"]
