"""`discreet synth`: synthetic tables."""
