"""The same agent for terminal front ends, editors and scripts: JSON-RPC 2.0, one object a line."""
