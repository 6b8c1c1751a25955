"""Telegram by its Bot API. The library is loaded late, on a worker thread; see ``api``."""
