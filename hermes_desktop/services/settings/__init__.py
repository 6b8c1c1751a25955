"""The settings of a home: read, explained, checked and changed."""
