"""Platform adapters of the gateway, one per messaging platform."""
