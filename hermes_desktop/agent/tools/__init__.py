"""What the assistant can do on this machine, and what it has to ask before."""
