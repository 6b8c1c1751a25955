"""Platform adapters: one per place where people write."""
