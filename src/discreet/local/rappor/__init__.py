"""RAPPOR: permanent and instantaneous randomized responses, and decoding."""
