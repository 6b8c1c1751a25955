"""The page of settings: what can be set, found, changed, looked at before it is saved, undone."""
