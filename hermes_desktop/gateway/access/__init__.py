"""Who may write to the assistant: authorization, pairing, command access."""
