"""Widgets, colors and layouts shared by several pages."""
