"""SessionDB, the only thing other packages use."""
