"""Neighbouring inputs worth trying."""
