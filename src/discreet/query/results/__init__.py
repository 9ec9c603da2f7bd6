"""From noisy sums to the answer, its error bars and its stored form."""
