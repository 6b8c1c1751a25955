"""Secrets in the settings: a field for one, a table of all, and actions on the keyring."""
