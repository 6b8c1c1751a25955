"""The gateway as a person sees it: its state, its platforms, and who may write to it."""
