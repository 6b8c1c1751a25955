"""The user interface; the only package that imports Qt."""
