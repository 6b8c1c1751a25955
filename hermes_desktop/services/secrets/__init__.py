"""Where secrets are kept, and what is known about each."""
