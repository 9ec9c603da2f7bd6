"""SQL text and Ibis expressions to one checked SELECT."""

from discreet.query.parse._parser import foreign_grammar, unlogged

__all__ = ["foreign_grammar", "unlogged"]
