"""Start-up of the program: single instance, display, event loop, self test."""
