"""Statistics with noise scaled to global, smooth or tested sensitivity, or to sampled blocks."""
