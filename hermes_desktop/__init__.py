"""Hermes Desktop: a native tray application for the Hermes personal AI assistant."""

__version__ = "0.1.0"
