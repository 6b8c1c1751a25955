"""Deviations of servers and gateways from OpenAI's chat completions that are accepted.

Each row names the server that sends it. The code that reads responses uses these rows; everything
else is ignored. The marks of thinking inside the text are in ``core/text/thinking_marks``.
"""

from dataclasses import dataclass
from typing import Literal

from hermes_desktop.core.text.thinking_marks import DROPPED_MARKS, THINKING_MARKS

__all__ = [
    "DROPPED_MARKS",
    "ENDINGS",
    "ERROR_SENTENCES",
    "ERROR_SIGNS",
    "MEDIA",
    "MESSAGE_FIELDS",
    "STATUS_FIELDS",
    "TEXT_FIELDS",
    "THINKING_FIELDS",
    "THINKING_MARKS",
    "Ending",
    "Named",
]


@dataclass(frozen=True, slots=True)
class Named:
    """A name in a response, and the servers that use it."""

    name: str
    source: str


@dataclass(frozen=True, slots=True)
class Ending:
    """A reason why an answer ended, besides ``stop`` and ``tool_calls``.

    Attributes:
        reason: As sent, in lower case.
        means: ``length``, ``content_filter``, or ``failed``: the server could not finish it.
        source: The servers that send it.
    """

    reason: str
    means: Literal["length", "content_filter", "failed"]
    source: str


MESSAGE_FIELDS = (
    Named("delta", "OpenAI, in a stream"),
    Named("message", "OpenAI, in one piece; gateways that do not stream send it in a stream, too"),
)
"""The message fields of a choice. A choice with neither may contain the fields itself."""

THINKING_FIELDS = (
    Named("reasoning_content", "DeepSeek, llama.cpp, vLLM before 0.12, SGLang, Moonshot, Z.ai"),
    Named("reasoning", "OpenRouter, vLLM, Ollama, Groq, LM Studio"),
    Named("thinking", "Ollama's own protocol behind gateways"),
    Named("reasoning_text", "GitHub Copilot"),
    Named("reasoning_details", "OpenRouter and MiniMax: a list of parts"),
    Named("thinking_blocks", "LiteLLM: a list of parts"),
)
"""The first with text counts: servers repeat the same thinking under several names."""

TEXT_FIELDS = (
    Named("content", "OpenAI; a list of parts from Mistral"),
    Named("refusal", "OpenAI"),
    Named("text", "legacy completions: text-generation-webui, KoboldCpp"),
)
"""The same for the reply."""

MEDIA = (
    Named("images", "OpenRouter: a list beside the text"),
    Named("image_url", "OpenAI-like parts of content"),
    Named("image", "Gemini gateways: parts of content"),
    Named("output_image", "gateways of the Responses protocol"),
    Named("audio", "OpenAI: sound with or without a transcript"),
    Named("output_audio", "gateways of the Responses protocol"),
    Named("video_url", "OpenRouter: parts of content"),
)
"""Content that cannot be shown, and is named instead."""

ENDINGS = (
    Ending("length", "length", "OpenAI"),
    Ending("max_tokens", "length", "Anthropic and Gemini behind gateways"),
    Ending("model_length", "length", "Mistral"),
    Ending("max_output_tokens", "length", "gateways of the Responses protocol"),
    Ending("model_context_window_exceeded", "length", "Anthropic and Z.ai"),
    Ending("content_filter", "content_filter", "OpenAI, Azure"),
    Ending("content-filter", "content_filter", "Vercel AI Gateway"),
    Ending("refusal", "content_filter", "Anthropic behind gateways"),
    Ending("sensitive", "content_filter", "Z.ai"),
    Ending("safety", "content_filter", "Gemini"),
    Ending("recitation", "content_filter", "Gemini"),
    Ending("prohibited_content", "content_filter", "Gemini"),
    Ending("blocklist", "content_filter", "Gemini"),
    Ending("spii", "content_filter", "Gemini"),
    Ending("error", "failed", "OpenRouter, Mistral, Vercel AI Gateway"),
    Ending("abort", "failed", "vLLM, SGLang"),
    Ending("aborted", "failed", "gateways"),
    Ending("cancelled", "failed", "TensorRT-LLM, TGI"),
    Ending("canceled", "failed", "gateways"),
    Ending("timeout", "failed", "gateways"),
    Ending("failed", "failed", "gateways of the Responses protocol"),
    Ending("incomplete", "failed", "gateways of the Responses protocol"),
    Ending("network_error", "failed", "Z.ai"),
    Ending("insufficient_system_resource", "failed", "DeepSeek"),
    Ending("malformed_function_call", "failed", "Gemini"),
    Ending("unexpected_tool_call", "failed", "Gemini"),
    Ending("eos_error", "failed", "TGI"),
)

ERROR_SIGNS = (
    Named("error", "OpenAI, Ollama, llama.cpp, LM Studio, TGI, OpenRouter"),
    Named("errors", "Cloudflare Workers AI"),
    Named("detail", "FastAPI: vLLM, text-generation-webui, NVIDIA NIM"),
    Named("error_msg", "Baidu Qianfan"),
    Named("error_message", "gateways"),
    Named("base_resp", "MiniMax, where its status_code is not 0"),
)
"""A response without a choice that contains one of them reports an error."""

ERROR_SENTENCES = (
    Named("message", "OpenAI, Mistral, DashScope, AWS"),
    Named("msg", "FastAPI, SiliconFlow"),
    Named("detail", "FastAPI"),
    Named("error_msg", "Baidu Qianfan"),
    Named("error_message", "gateways"),
    Named("status_msg", "MiniMax"),
    Named("error_description", "OAuth gateways"),
    Named("title", "problem+json: NVIDIA NIM"),
)
"""Fields with the message of an error."""

STATUS_FIELDS = (
    Named("code", "OpenRouter, llama.cpp, vLLM"),
    Named("status", "Google, problem+json"),
    Named("status_code", "LiteLLM, MiniMax"),
    Named("http_code", "MiniMax"),
    Named("error_code", "Baidu Qianfan"),
)
"""Fields with the status of an error that came too late for the head of the response."""
