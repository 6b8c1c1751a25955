"""The settings of the assistant for the user."""
