"""Approvals and questions of the assistant, asked in the window."""
