"""`discreet census`: statistical tables of nested areas."""
