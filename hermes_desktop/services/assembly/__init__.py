"""Composition root: builds every part once and injects its dependencies."""
