"""Two servers who each hold a share of every report, and together publish a total."""
