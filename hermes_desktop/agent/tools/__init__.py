"""The tools of the assistant on this machine, and their approvals."""
