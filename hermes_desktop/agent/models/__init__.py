"""The choice of the model, its address and its key."""
