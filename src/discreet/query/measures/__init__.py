"""The bounded aggregate that an engine runs, and how far one unit can move it."""
