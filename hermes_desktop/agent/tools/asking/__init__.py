"""Approvals and questions: pending requests to the user, and decisions."""
