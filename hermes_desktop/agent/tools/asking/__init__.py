"""Approvals and questions: what waits for a person, and what was decided."""
