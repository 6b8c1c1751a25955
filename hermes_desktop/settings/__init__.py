"""Declaration, storage and secrecy of settings; which settings exist is defined elsewhere."""
