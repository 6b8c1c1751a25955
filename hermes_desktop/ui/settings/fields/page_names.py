"""Names of the settings pages, for search hits and the remembered page of a home."""

GENERAL = "general"
ASSISTANT = "assistant"
SESSIONS = "sessions"
PLATFORMS = "platforms"
PRIVACY = "privacy"
OTHER = "other"
