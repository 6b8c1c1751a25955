"""JSON-RPC 2.0 server of the agent for front ends, editors and scripts; one object per line."""
