"""Statistical tables of nested areas: integers that add up, beside each the unbiased number and its interval."""
