"""The client: it perturbs a value on the device of the person whose value it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from discreet.errors import ParameterError
from discreet.local._codec import Encoder
from discreet.local._reports import Reports
from discreet.noise import fresh_draws, remembered_draws

__all__ = ["Client"]


@dataclass(frozen=True, slots=True)
class Client:
    """One person's device, which knows a scheme and perhaps a secret. Made by `scheme.client()`.

    Raises `ParameterError` unless a scheme that memoizes has a secret of 16 bytes or more, and any other scheme none.
    """

    scheme: Encoder
    secret: bytes | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.scheme.longitudinal == "memoize":
            if self.secret is None:
                raise ParameterError(
                    "this scheme memoizes: give client(secret=...), 16 bytes or more that the device keeps for life "
                    "(discreet.noise.secret(32)); for a study, scheme.simulate(values) stands for many clients"
                )
            remembered_draws(self.secret, b"")  # refuses an invalid secret
        elif self.secret is not None:
            raise ParameterError(
                "this scheme draws every report afresh and has no use for a secret; make it with longitudinal='memoize'"
            )

    def encode(self, values: Any) -> Reports:
        """A report for each value, one value or many of this person's.

        Costs the person `scheme.lifetime_loss` over all calls. Raises `ParameterError`, before anything is drawn, for a
        value that cannot be reported.

        >>> from discreet.local import KaryRandomizedResponse
        >>> len(KaryRandomizedResponse(domain=["a", "b"], epsilon=1).client().encode("a"))
        1
        """
        scheme = self.scheme
        prepared = scheme.prepare(values)
        if self.secret is None:
            return Reports(scheme.fingerprint, scheme.perturb(prepared, fresh_draws()))
        return Reports(scheme.fingerprint, scheme.remember(prepared, self.secret))
