"""Messages from platforms to the agent and back."""
