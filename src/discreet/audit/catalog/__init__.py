"""The audits that the library makes of itself."""
