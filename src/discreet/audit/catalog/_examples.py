"""An entry for every setting of every mechanism, and for every local scheme."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from discreet.audit.black_box._subject import batched
from discreet.audit.catalog._entry import Entry
from discreet.local.examples import examples as schemes
from discreet.mechanisms.examples import examples as mechanisms

__all__ = ["mechanism_entries", "scheme_entries"]


def mechanism_entries() -> Iterator[Entry]:
    """What `discreet.mechanisms.examples` has to be audited."""
    for example in mechanisms():
        for setting in example.settings:
            draw = setting.draw or example.draw
            yield Entry(
                example.named(setting),
                group=example.group,
                shown=setting.shown,
                mechanism=setting.mechanism if draw is None else batched(partial(draw, setting.mechanism)),
                pairs=setting.pairs,
                claim=setting.claim,
                delta=setting.delta,
                kind=example.kind,
                samples=setting.samples,
                note=setting.note,
            )


def scheme_entries() -> Iterator[Entry]:
    """The reports of each scheme of `discreet.local.examples`, as a collector reads them."""
    for example in schemes():
        yield Entry(
            f"local {example.name}",
            group="Reports of people's own devices",
            shown=example.shown,
            mechanism=batched(example.reports),
            pairs=(example.pair,),
            claim=example.at(1).loss,
            kind=example.kind,
            note=example.note,
        )
