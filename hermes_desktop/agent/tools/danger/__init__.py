"""Assessment of shell commands: whether one may do harm, and how much."""
