"""Several attributes at once: marginals, sampled attributes, key-value pairs."""
