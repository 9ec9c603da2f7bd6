"""A cap on one person's rows that a query buys: noisy counts of people by their rows, and the cap that follows."""
