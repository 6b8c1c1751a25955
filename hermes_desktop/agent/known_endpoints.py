"""Providers we know by name: where they answer, and which variable holds their key."""

from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class KnownEndpoint:
    """A provider that speaks OpenAI's chat completions.

    Attributes:
        name: As ``model.provider`` has it.
        base_url: Up to and with the version, no slash at the end.
        key_variable: Name of the variable with its key; "" when it needs none.
    """

    name: str
    base_url: str
    key_variable: str

    @property
    def host(self) -> str:
        """The host that may get this provider's key."""
        return urlsplit(self.base_url).hostname or ""


_ENDPOINTS = (
    KnownEndpoint("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    KnownEndpoint("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    KnownEndpoint("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    KnownEndpoint("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    KnownEndpoint("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    KnownEndpoint("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
    KnownEndpoint("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    KnownEndpoint("ollama", "http://127.0.0.1:11434/v1", ""),
    KnownEndpoint("lmstudio", "http://127.0.0.1:1234/v1", ""),
)
KNOWN = {endpoint.name: endpoint for endpoint in _ENDPOINTS}

OTHER_PROTOCOL = frozenset(
    {
        "anthropic",
        "bedrock",
        "vertex",
        "gemini",
        "google",
        "openai-codex",
        "codex",
        "copilot",
        "nous",
    }
)
"""Providers that ``hermes`` can use and that do not take OpenAI's chat completions with a key."""


def endpoint_at(base_url: str) -> KnownEndpoint | None:
    """The provider we know at an address; None for any other host, and for one in plain text."""
    try:
        parts = urlsplit(base_url)
        private = parts.scheme == "https" and parts.port in {None, 443}
    except ValueError:
        return None
    if not private:
        return None
    return next(
        (each for each in _ENDPOINTS if each.key_variable and each.host == parts.hostname), None
    )
