"""Widgets, colours and layouts that several pages share."""
