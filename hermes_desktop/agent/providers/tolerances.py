"""Deviations of servers and gateways from OpenAI's chat completions that are accepted.

Each row names the server that sends it. The code that reads responses uses these rows, and finds
the content of a message, or an error in it, in whichever fields hold it; everything else is
ignored. The marks of thinking inside the text are in ``core/text/thinking_split``.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hermes_desktop.core.text.thinking_split import DROPPED_MARKS, THINKING_MARKS
from hermes_desktop.state.records.content_codec import clean_text

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


_MESSAGES = tuple(each.name for each in MESSAGE_FIELDS)
_THINKING = tuple(each.name for each in THINKING_FIELDS)
_TEXT = tuple(each.name for each in TEXT_FIELDS)
_MEDIA = frozenset(each.name for each in MEDIA)
_DEEPEST = 4
_THOUGHT_PARTS = frozenset({"thinking", "reasoning", "reasoning.text", "reasoning.summary"})


@dataclass(slots=True)
class MessageParts:
    """The text of a message, and the kinds of content that cannot be shown.

    Attributes:
        text: Text of the reply.
        thinking: Text of the thinking.
        media: Kinds of content that cannot be shown, one entry each.
        tool_calls: Pieces of calls, as sent.
    """

    text: str = ""
    thinking: str = ""
    media: list[str] = field(default_factory=list)
    tool_calls: Any = None


def message_in(choice: Mapping[str, Any], first: str) -> Mapping[str, Any]:
    """Return the message of a choice: in the expected field, another one, or the choice itself."""
    for name in (first, *_MESSAGES):
        found = choice.get(name)
        if isinstance(found, Mapping) and found:
            return found
    return choice


def parts_of(message: Mapping[str, Any]) -> MessageParts:
    """Read a message, or a piece of one."""
    parts = MessageParts(tool_calls=message.get("tool_calls"))
    function = message.get("function_call")
    if parts.tool_calls is None and isinstance(function, Mapping):
        # The format of 2023, still sent by some gateways.
        parts.tool_calls = [{"index": 0, "function": function}]
    for name in _TEXT:
        _read_content(message.get(name), parts)
        if parts.text:
            break
    for name in _THINKING:
        if parts.thinking:
            break
        parts.thinking = _words(message.get(name), _DEEPEST)
    for name in _MEDIA:
        _read_media(name, message.get(name), parts)
    return parts


def _read_content(content: Any, parts: MessageParts) -> None:
    """Read text, or a list of parts of several kinds."""
    if isinstance(content, str):
        parts.text += content
    for part in content if isinstance(content, list) else ():
        if isinstance(part, str):
            parts.text += part
        if not isinstance(part, Mapping):
            continue
        kind = part.get("type")
        if kind in _THOUGHT_PARTS:
            parts.thinking += _words(part, _DEEPEST)
        elif isinstance(kind, str) and kind in _MEDIA:
            _read_media(kind, part.get(kind) or part, parts)
        else:
            parts.text += _words(part.get("text"), _DEEPEST) or _words(part.get("refusal"), 1)


def _read_media(name: str, found: Any, parts: MessageParts) -> None:
    if name.endswith("audio") and isinstance(found, Mapping):
        transcript = found.get("transcript")
        if isinstance(transcript, str) and transcript:
            parts.text += transcript
        elif found.get("data"):
            parts.media.append("sound")
        return
    kind = "video" if name.startswith("video") else "picture"
    if isinstance(found, list):
        parts.media += [kind] * len(found)
    elif found:
        parts.media.append(kind)


def _words(value: Any, deep: int) -> str:
    """Return the whole text of a text, a part, or a list of parts."""
    if isinstance(value, str):
        return value
    if deep <= 0:
        return ""
    if isinstance(value, list):
        return "".join(_words(each, deep - 1) for each in value)
    if isinstance(value, Mapping):
        for name in ("text", "thinking", "summary", "reasoning", "content"):
            found = _words(value.get(name), deep - 1)
            if found:
                return found
    return ""


def media_placeholder(kinds: list[str]) -> str:
    """Return the placeholder for content that cannot be shown; "" for none."""
    told = []
    for kind in dict.fromkeys(kinds):
        count = kinds.count(kind)
        if kind == "sound":
            told.append("sound")
        else:
            told.append(f"a {kind}" if count == 1 else f"{count} {kind}s")
    if not told:
        return ""
    return f"[The model sent {' and '.join(told)}, which cannot be shown here.]"


class PairJoiner:
    """A joiner of the two halves of a character that arrived in two pieces of JSON."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        """Return the text that is complete by now; a half without its other half becomes U+FFFD."""
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return clean_text(text[: len(text) - len(self._half)])

    def end(self) -> str:
        """Return the replacement of a half that has no other half."""
        half, self._half = self._half, ""
        return clean_text(half)


_SIGNS = tuple(each.name for each in ERROR_SIGNS)
_SENTENCES = tuple(each.name for each in ERROR_SENTENCES)
_STATUS = tuple(each.name for each in STATUS_FIELDS)
_DEEPEST_ERROR = 6


def error_in(payload: Mapping[str, Any], event: str = "") -> Mapping[str, Any] | None:
    """Return the part of a response that reports an error; None if there is none.

    Args:
        payload: The decoded response, or a piece of one.
        event: The name of its event in a stream.
    """
    if payload.get("error"):
        return payload
    if event == "error":
        return payload
    choices = payload.get("choices")
    if isinstance(choices, list) and choices:
        first = choices[0]
        return first if isinstance(first, Mapping) and first.get("error") else None
    return payload if _is_error(payload) else None


def _is_error(payload: Mapping[str, Any]) -> bool:
    if any(payload.get(name) for name in _SIGNS if name != "base_resp"):
        return True
    base = payload.get("base_resp")
    if isinstance(base, Mapping) and base.get("status_code"):
        return True
    if "error" in (payload.get("object"), payload.get("type")):
        return True
    coded = any(_is_code(payload.get(name)) for name in _STATUS)
    failed = payload.get("success") is False
    return (coded or failed) and bool(_sentence(payload, _DEEPEST_ERROR))


def _is_code(value: Any) -> bool:
    """Return whether a value is a status or an error code."""
    if isinstance(value, str):
        return bool(value) and value.lower() not in {"ok", "success", "200", "0"}
    return isinstance(value, int) and not isinstance(value, bool) and value not in {0, 200}


def status_in(payload: Mapping[str, Any]) -> int | None:
    """Return the HTTP status that an error names in its body, None where it names none."""
    inner = payload.get("error")
    for place in (inner, payload, payload.get("base_resp")):
        if not isinstance(place, Mapping):
            continue
        for name in _STATUS:
            status = _status(place.get(name))
            if status is not None:
                return status
    return None


def _status(value: Any) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) == 3:  # noqa: PLR2004
        value = int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 400 <= value < 600 else None  # noqa: PLR2004


def error_message(body: bytes) -> tuple[str, frozenset[str]]:
    """Return the message of an error response, and every code and type it names."""
    text = body.decode("utf-8", "replace")
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return text, frozenset()
    # Some endpoints wrap the error in a list.
    if isinstance(payload, list) and payload:
        payload = payload[0]
    if not isinstance(payload, Mapping):
        return text, frozenset()
    error = _innermost(payload)
    if not isinstance(error, Mapping):
        return _sentence(error, _DEEPEST_ERROR) or str(error), frozenset()
    message = _sentence(error, _DEEPEST_ERROR) or text
    codes = frozenset(str(error[name]) for name in ("code", "type") if error.get(name))
    return _with_cause(message, error), codes


def _innermost(payload: Mapping[str, Any]) -> Any:
    for name in ("error", "errors", "detail", "base_resp"):
        found = payload.get(name)
        if isinstance(found, list) and found and isinstance(found[0], Mapping):
            found = found[0]
        if found and not (name == "detail" and isinstance(payload.get("message"), str)):
            return found
    return payload


def _sentence(value: Any, deep: int) -> str:
    """Return the text of an error's message, whatever wraps it."""
    if isinstance(value, str):
        return value
    if deep <= 0:
        return ""
    if isinstance(value, list):
        return "; ".join(part for part in (_sentence(each, deep - 1) for each in value[:5]) if part)
    if isinstance(value, Mapping):
        for name in _SENTENCES:
            found = _sentence(value.get(name), deep - 1)
            if found.strip():
                return found
    return ""


def _with_cause(message: str, error: Mapping[str, Any]) -> str:
    # Routers put the real endpoint's message next to their own general sentence.
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    # llama.cpp puts its limit next to its message.
    limit = error.get("n_ctx")
    if isinstance(limit, int) and str(limit) not in message:
        message = f"{message} (n_ctx {limit})"
    return f"{message} ({raw})" if isinstance(raw, str) and raw not in message else message
