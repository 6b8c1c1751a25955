"""The pages of the settings and the way between them."""
