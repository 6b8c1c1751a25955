"""Providers known by name: their addresses, and the variables that hold their keys."""

from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class KnownEndpoint:
    """A provider that supports OpenAI's chat completions.

    Attributes:
        name: The value of ``model.provider``.
        base_url: Up to and including the version, without a trailing slash.
        key_variable: Name of the variable with its key; "" when it needs none.
        other_variables: Further variables that may hold its key.
        aliases: Other names for it.
    """

    name: str
    base_url: str
    key_variable: str
    other_variables: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def host(self) -> str:
        """The host that may receive this provider's key."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def key_variables(self) -> tuple[str, ...]:
        """The variables that may hold its key, in order of precedence."""
        return (self.key_variable, *self.other_variables) if self.key_variable else ()

    @property
    def address_variable(self) -> str:
        """The variable that overrides its address."""
        return "".join(c if c.isalnum() else "_" for c in self.name.upper()) + "_BASE_URL"


_ENDPOINTS = (
    KnownEndpoint("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    KnownEndpoint("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    KnownEndpoint(
        "anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", aliases=("claude",)
    ),
    KnownEndpoint(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        ("GOOGLE_API_KEY",),
        ("google",),
    ),
    KnownEndpoint("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    KnownEndpoint("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    KnownEndpoint("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    KnownEndpoint("xai", "https://api.x.ai/v1", "XAI_API_KEY", aliases=("grok",)),
    KnownEndpoint("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    KnownEndpoint("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    KnownEndpoint("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    KnownEndpoint("nvidia", "https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY"),
    KnownEndpoint("huggingface", "https://router.huggingface.co/v1", "HF_TOKEN", aliases=("hf",)),
    KnownEndpoint(
        "zai",
        "https://api.z.ai/api/paas/v4",
        "GLM_API_KEY",
        ("ZAI_API_KEY", "Z_AI_API_KEY"),
        ("glm", "z.ai", "z-ai"),
    ),
    KnownEndpoint(
        "moonshot",
        "https://api.moonshot.ai/v1",
        "MOONSHOT_API_KEY",
        ("KIMI_API_KEY",),
        ("kimi",),
    ),
    KnownEndpoint("ollama", "http://127.0.0.1:11434/v1", ""),
    KnownEndpoint("lmstudio", "http://127.0.0.1:1234/v1", "", aliases=("lm-studio",)),
    KnownEndpoint("llama.cpp", "http://127.0.0.1:8080/v1", "", aliases=("llamacpp", "llama-cpp")),
    KnownEndpoint("vllm", "http://127.0.0.1:8000/v1", ""),
)
KNOWN = {endpoint.name: endpoint for endpoint in _ENDPOINTS}
_BY_NAME = KNOWN | {alias: endpoint for endpoint in _ENDPOINTS for alias in endpoint.aliases}

_TITLES = {
    "anthropic": "Anthropic",
    "cerebras": "Cerebras",
    "deepseek": "DeepSeek",
    "fireworks": "Fireworks",
    "gemini": "Gemini",
    "groq": "Groq",
    "huggingface": "Hugging Face",
    "lmstudio": "LM Studio",
    "mistral": "Mistral",
    "moonshot": "Moonshot",
    "nvidia": "NVIDIA",
    "ollama": "Ollama",
    "openai": "OpenAI",
    "openrouter": "OpenRouter",
    "together": "Together",
    "vllm": "vLLM",
    "xai": "xAI",
    "zai": "Z.AI",
}


def provider_title(name: str) -> str:
    """Return a provider's display name; an unknown name is returned as it is."""
    return _TITLES.get(name, name)


OTHER_PROTOCOL = frozenset(
    {
        "ai-gateway",
        "azure",
        "azure-foundry",
        "bedrock",
        "codex",
        "copilot",
        "copilot-acp",
        "google-gemini-cli",
        "kimi-coding",
        "minimax",
        "minimax-cn",
        "nous",
        "openai-codex",
        "qwen-oauth",
        "vertex",
        "xai-oauth",
    }
)
"""Providers that ``hermes`` can use, with another protocol or with a sign-in there."""


def known_endpoint(name: str) -> KnownEndpoint | None:
    """Return the provider with that name, in lower case, or alias."""
    return _BY_NAME.get(name)


def endpoint_at(base_url: str) -> KnownEndpoint | None:
    """Return the known provider at an address; None for other hosts and for unencrypted ones."""
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
