"""The answer to a query over releases, which has the releases themselves beside its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from discreet.combined._answer import CombinedAnswer, combined_from_stored, combined_to_stored
from discreet.errors import LedgerError
from discreet.privacy import Loss, PureLoss, SumLoss, currency, from_json, in_currency
from discreet.query import (
    ALL_NOISE,
    Release,
    answer_words,
    footnotes,
    recompute_query_loss,
    release_digests,
    verify_query_loss,
)
from discreet.release import ReleaseKind, check_within, register, stated_in

__all__ = ["COMBINED", "CombinedRelease"]


@dataclass(frozen=True, repr=False)
class CombinedRelease(Release):
    """The rows of a query over releases, with the error bars of the released numbers among them.

    `error` is NaN for what is computed from released numbers otherwise. Where noise decides which rows are shown, the
    bars of all released rows hold at once, and are wider than those of the parts.
    """

    @property
    def parts(self) -> tuple[Release, ...]:
        """The releases that the rows are computed from; their losses add up to at most `loss`."""
        assert isinstance(self.answer, CombinedAnswer)
        stated = self.certificate.get("parts", ())
        return tuple(
            Release(answer, from_json(each["loss"]), each)
            for answer, each in zip(self.answer.parts, stated, strict=True)
        )

    @property
    def complete(self) -> bool:
        """Whether the rest of the query could be computed; if not, there are no rows, and `parts` has what was paid."""
        return bool(self.certificate.get("complete", True))

    def rank_error(self, column: str) -> float | None:
        """None: the parts have those of their quantiles."""
        self.answer.shape(column)
        return None

    def _stored(self) -> tuple[dict[str, Any], list[Any]]:
        assert isinstance(self.answer, CombinedAnswer)
        return combined_to_stored(self.answer)

    @classmethod
    def _restored(cls, header: Mapping[str, Any], columns: Sequence[Any]) -> CombinedAnswer:
        if len(header["parts"]) != len(header["certificate"]["parts"]):
            raise ValueError("the release and its certificate have other parts")
        return combined_from_stored(header, columns)

    def footnotes(self, level: float = 0.95, first: int | None = None) -> list[str]:
        """What is to be known of the rows: what the parts say of theirs, and where the rest could not be computed."""
        lines = [] if self.complete else ["the rest of the query could not be computed; .parts has its releases"]
        for place, part in enumerate(self.parts, 1):
            known = footnotes(part.certificate, answer_words(part.certificate), [])
            lines += [f"release {place}: {line}" for line in known]
        if any(text.endswith(ALL_NOISE) for row in self.cells(level, first) for text in row):
            lines.append(f"{ALL_NOISE} no larger than its noise: it may be all noise")
        return lines


def _parts(certificate: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    parts = certificate.get("parts")
    if certificate.get("kind") != "combined" or not isinstance(parts, list) or not parts:
        raise LedgerError("this is not the certificate of a query over releases that this version of discreet knows")
    each = cast("list[object]", parts)
    if not all(isinstance(part, dict) and cast("dict[str, Any]", part).get("kind") == "query" for part in each):
        raise LedgerError("a part of the certificate is not that of a release of a query")
    if any(cast("dict[str, Any]", part).get("relation") != certificate.get("relation") for part in each):
        raise LedgerError("the parts of the certificate are about other neighbours than it says")
    return cast("list[Mapping[str, Any]]", parts)


def recompute_combined_loss(certificate: Mapping[str, Any]) -> Loss:
    """The loss that follows from the mechanisms of all parts, in the stated currency. Raises `LedgerError`."""
    name = currency(stated_in(certificate))
    losses = tuple(in_currency(recompute_query_loss(part), name) for part in _parts(certificate))
    return in_currency(SumLoss((PureLoss(Fraction(0)), *losses)), name)


def verify_combined_loss(certificate: Mapping[str, Any]) -> None:
    """Raise `LedgerError`, which names the part, where the mechanisms of the parts lose more than is stated."""
    stated = stated_in(certificate)
    losses: list[Loss] = []
    for place, part in enumerate(_parts(certificate), 1):
        try:
            verify_query_loss(part)
        except LedgerError as error:
            raise LedgerError(f"release {place}: {error}") from None
        losses.append(stated_in(part))
    check_within("all releases together", SumLoss((PureLoss(Fraction(0)), *losses)), stated)


COMBINED = register(
    ReleaseKind("combined", CombinedRelease.from_bytes, release_digests, recompute_combined_loss, verify_combined_loss)
)
