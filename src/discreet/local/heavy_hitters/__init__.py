"""Heavy hitters: frequent words, found without a list of candidates."""
