"""The chat page: writing messages and following their replies."""
