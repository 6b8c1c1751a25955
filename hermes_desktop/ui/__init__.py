"""The only package that imports Qt."""
