"""SQL text and Ibis expressions to one checked SELECT."""
