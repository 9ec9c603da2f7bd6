"""`discreet train` and `discreet predict`."""
