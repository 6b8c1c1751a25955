"""The pages of the settings and the navigation between them."""
