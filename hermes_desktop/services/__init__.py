"""The user's operations, asynchronous and without Qt, for the window and the command line."""
