"""Starting the program at login."""
