"""One turn: the prompt, the model's steps, the tools they call, the stored reply."""
