"""Coroutines, worker threads and locks within one process."""
