"""Approvals and questions of the assistant, shown in the window."""
