"""The settings of a home: reading, explanation, validation and changes."""
