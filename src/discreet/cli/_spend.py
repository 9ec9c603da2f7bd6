"""Options to a loss. Numbers stay text until they are exact fractions, so that 0.1 is 1/10."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.privacy import Loss

__all__ = ["spend_of"]


def spend_of(epsilon: str | None, rho: str | None, mu: str | None, delta: str | None) -> Loss | None:
    """The loss that the options name; None if they name none. Raises `ParameterError` for more than one."""
    from discreet import privacy

    given = [f"--{name}" for name, value in (("epsilon", epsilon), ("rho", rho), ("mu", mu)) if value is not None]
    if len(given) > 1:
        raise ParameterError(f"a spend has one currency: give one of {', '.join(given)}, not {len(given)} of them")
    if mu is not None:
        return privacy.mu(mu, "0" if delta is None else delta)
    if epsilon is not None:
        return privacy.pure(epsilon) if delta is None else privacy.approx(epsilon, delta)
    if rho is not None:
        return privacy.rho(rho, "0" if delta is None else delta)
    if delta is not None:
        raise ParameterError("--delta stands beside --epsilon, --rho or --mu: give one of them too")
    return None
