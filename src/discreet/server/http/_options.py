"""What an owner may choose of the API."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import ParameterError

__all__ = ["ApiOptions"]


@dataclass(frozen=True, slots=True)
class ApiOptions:
    """Options of the API. Raises `ParameterError` for numbers that make no sense.

    Attributes
    ----------
    account_rate, account_burst
        Requests of one account: so many a second, after so many at once. Refused ones count.
    address_rate, address_burst
        The same for one address.
    """

    account_rate: float = 50.0
    account_burst: float = 200.0
    address_rate: float = 200.0
    address_burst: float = 800.0

    def __post_init__(self) -> None:
        for name in ("account_rate", "account_burst", "address_rate", "address_burst"):
            if not 0 < getattr(self, name) <= 1e6:
                raise ParameterError(f"{name} must be above 0 and at most 1,000,000, got {getattr(self, name)}")
