"""Starting the program: single instance, display, event loop, self test."""
