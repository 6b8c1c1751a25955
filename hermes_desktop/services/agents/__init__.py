"""Agents and everything they need: models, tools, plugins, approvals."""
