"""Sessions exported to files and imported from them."""
