"""Verify a release from its file, its certificate, a public key and a ledger, check by check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from discreet.errors import LedgerError, ParameterError
from discreet.ledger._auditor import LedgerAudit
from discreet.ledger.crypto._signing import check_signature, fingerprint
from discreet.privacy import currency, from_json, in_currency, in_words, parts
from discreet.release import ReleaseFile, verify_loss

__all__ = ["Check", "verify_release"]


@dataclass(frozen=True, slots=True)
class Check:
    """What was checked, how it came out, and what that means, in words."""

    name: str
    result: Literal["good", "bad", "not checked"]
    meaning: str


def verify_release(file: ReleaseFile, key: str | None = None, ledger: LedgerAudit | None = None) -> Iterator[Check]:
    """All checks of a release, in the order in which they build on one another. Costs nothing and reads no data.

    `key` is the public key that is expected to have signed it, as 64 hexadecimal digits; with the `ledger`, in the
    hands of its owner or an auditor, the charge is looked up as well.
    """
    certificate = file.certificate
    signer = _outcome(lambda: check_signature(certificate))
    if isinstance(signer, Check):
        yield Check("signature", "bad", signer.meaning)
    else:
        yield Check(
            "signature", "good", f"nobody changed the certificate since the key {fingerprint(signer)} signed it"
        )
    known = signer if isinstance(signer, str) else None
    yield _signer(certificate, known, key, None if ledger is None else ledger.facts.public_key)
    yield from _answer(file)
    yield _loss(file)
    if ledger is not None:
        yield from _in_ledger(certificate, ledger)


def _signer(certificate: Mapping[str, Any], signer: str | None, given: str | None, ledgers: str | None) -> Check:
    expected = [(name, key) for name, key in (("the key you gave", given), ("the ledger's key", ledgers)) if key]
    if signer is None:
        return Check("signer", "bad", "no valid signature, so no signer")
    if not expected:
        return Check(
            "signer",
            "not checked",
            "whose key that is, no file can tell: ask the owner for the ledger's public key, and give it as --key",
        )
    for _, key in expected:
        signature = _outcome(lambda key=key: check_signature(certificate, key))
        if isinstance(signature, Check):
            return Check("signer", "bad", signature.meaning)
    return Check("signer", "good", f"it is {' and '.join(name for name, _ in expected)}")


def _answer(file: ReleaseFile) -> Iterator[Check]:
    if file.bare:
        yield Check("answer", "not checked", "the file is a certificate alone, without the answer that it is of")
        return
    wrong = [name for name, digest in file.digests.items() if file.certificate.get(name) != digest]
    if wrong:
        what = "values" if "answer" in wrong else "error bars"
        yield Check("answer", "bad", f"the {what} in the file are not those that were certified: they were changed")
        return
    yield Check("answer", "good", "the values in the file are those that were certified, to the last digit")
    if file.left_out is not None:
        yield Check("error bars", "not checked", f"not covered by the certificate: {file.left_out}")


def _loss(file: ReleaseFile) -> Check:
    if file.loss != file.certificate.get("loss"):
        return Check("loss", "bad", "the file states another loss than its certificate")
    why = _outcome(lambda: verify_loss(file.certificate))
    if isinstance(why, Check):
        return Check("loss", "bad", why.meaning)
    if why is not None:
        return Check("loss", "not checked", why)
    return Check("loss", "good", f"{in_words(from_json(file.loss))} follows from the mechanisms that are named")


def _in_ledger(certificate: Mapping[str, Any], ledger: LedgerAudit) -> Iterator[Check]:
    """That the ledger charged for this release, and is whole."""
    position = certificate.get("position")
    entries = _outcome(ledger.verify)
    if isinstance(entries, Check):
        yield Check("ledger", "bad", entries.meaning)
        return
    yield Check("ledger", "good", f"all {entries:,} entries of its chain are whole and in order")
    charge = next(
        (each for each in ledger.entries() if each.kind in ("reserve", "run") and each.hash == position), None
    )
    if charge is None or charge.loss is None or certificate.get("ledger") != ledger.head.ledger:
        yield Check(
            "charge",
            "bad",
            "the ledger has no entry at the certificate's position: that is in another ledger, or was taken back",
        )
        return
    protected, counted = _counted_by(certificate), ledger.facts.counts
    if protected is not None and protected != counted:
        yield Check("charge", "bad", f"the ledger counts the losses of {counted}, and this loss is of {protected}")
        return
    unit = currency(charge.loss)
    stated = _outcome(lambda: parts(in_currency(from_json(certificate.get("loss")), unit)))
    right = charge.plan_hash == certificate.get("plan") and charge.account == (certificate.get("account") or "")
    if isinstance(stated, Check) or not right or any(a > b for a, b in zip(stated, parts(charge.loss), strict=True)):
        yield Check("charge", "bad", "the ledger charged for something else, or for less than is stated")
        return
    yield Check(
        "charge", "good", f"the ledger charged {in_words(charge.loss)} for it before it was drawn, entry {charge.seq:,}"
    )


def _counted_by(certificate: Mapping[str, Any]) -> str | None:
    """What a loss is of, where a certificate says it: edges, or arcs of a graph with directions."""
    if certificate.get("protects") == "edge":
        directed = certificate.get("direction") is not None or certificate.get("directed") is True
        return "arcs" if directed else "edges"
    counts = certificate.get("counts", "people" if certificate.get("kind") == "mechanism" else None)
    return counts if isinstance(counts, str) else None


def _outcome(ask: Callable[[], Any]) -> Any:
    """What comes back, or a check with what was refused."""
    try:
        return ask()
    except (LedgerError, ParameterError) as error:
        return Check("", "bad", str(error))
