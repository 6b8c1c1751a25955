"""Doubles for the world outside, written once and injected."""
