"""What a loss means: currencies, bounds on ε and δ, and what a budget allows."""
