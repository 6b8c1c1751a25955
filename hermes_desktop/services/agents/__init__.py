"""Agents and their dependencies: models, tools, plugins, approvals."""
