"""The names of the pages, for the home's memory and for hits."""

GENERAL = "general"
ASSISTANT = "assistant"
SESSIONS = "sessions"
PLATFORMS = "platforms"
PRIVACY = "privacy"
OTHER = "other"
