"""Telegram, by its Bot API. The library for it is loaded late, on a thread; see ``api``."""
