"""The gateway runner: receives messages, runs turns and delivers replies."""
