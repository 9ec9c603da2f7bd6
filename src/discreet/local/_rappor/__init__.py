"""RAPPOR: reports in two stages, one for life and one for the day."""
