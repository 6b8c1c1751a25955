"""The sandbox of the programs that the assistant starts: levels, grants, renderers, probe."""
