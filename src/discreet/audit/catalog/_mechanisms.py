"""An entry for every setting of every mechanism."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from discreet.audit.black_box._subject import batched
from discreet.audit.catalog._entry import Entry
from discreet.mechanisms.examples import examples

__all__ = ["mechanism_entries"]


def mechanism_entries() -> Iterator[Entry]:
    """What `discreet.mechanisms.examples` has to be audited."""
    for example in examples():
        for setting in example.settings:
            drawn_by = setting.draw or example.draw
            yield Entry(
                example.named(setting),
                group=example.group,
                shown=setting.shown,
                mechanism=setting.mechanism if drawn_by is None else batched(partial(drawn_by, setting.mechanism)),
                pairs=setting.pairs,
                claim=setting.claim,
                delta=setting.delta,
                kind=example.kind,
                samples=setting.samples,
                note=setting.note,
            )
