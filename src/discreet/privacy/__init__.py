"""What a release costs: losses, their composition, and the unit they protect."""

from discreet.privacy._interpret import as_approx, as_pure, as_rho, currency, fits, in_currency, left
from discreet.privacy._loss import Approx, Loss, Pure, Rho, Sum, Times, approx, pure, rho
from discreet.privacy._text import from_json, in_words, to_json
from discreet.privacy._unit import Relation, Unit

__all__ = [
    "Approx",
    "Loss",
    "Pure",
    "Relation",
    "Rho",
    "Sum",
    "Times",
    "Unit",
    "approx",
    "as_approx",
    "as_pure",
    "as_rho",
    "currency",
    "fits",
    "from_json",
    "in_currency",
    "in_words",
    "left",
    "pure",
    "rho",
    "to_json",
]
