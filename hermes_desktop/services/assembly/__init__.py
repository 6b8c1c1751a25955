"""Builds every part once and hands each what it needs."""
