"""The settings of the assistant as a person changes them."""
