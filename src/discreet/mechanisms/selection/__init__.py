"""The choice of one or several candidates by their utilities."""
