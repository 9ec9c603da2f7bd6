"""Side channels: digits, repeats, copied state, time and bad numbers."""
