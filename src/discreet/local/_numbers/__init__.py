"""Numbers between bounds: their mean, and how they are distributed."""
