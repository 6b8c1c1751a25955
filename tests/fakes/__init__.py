"""Test doubles for everything outside the program, injected by tests."""
