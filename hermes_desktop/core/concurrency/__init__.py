"""Coroutines, worker threads, locks within one process."""
