"""Words that nobody has listed: found in the reports, and counted."""
