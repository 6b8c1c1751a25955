"""The plugin hooks of one turn, and what they may change.

Nothing is computed for a hook without callbacks. Whatever a plugin does, the turn continues: each
callback is bounded by the registry, and stopping the turn does not wait for one.
"""

import copy
import logging
import math
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from hermes_desktop import plugins
from hermes_desktop.agent.providers.base import Reply
from hermes_desktop.agent.types import (
    AgentResult,
    CancelSignal,
    ChatRequest,
    ConversationMessage,
    ModelChoice,
)
from hermes_desktop.core.concurrency.time_bound import call_within
from hermes_desktop.core.session_context import get_session_env
from hermes_desktop.state.records.content_codec import clean_text

log = logging.getLogger(__name__)

MOST_CONTEXT = 100_000
"""How many characters all plugins together may add to a message."""


class TurnHooks:
    """The hooks of one turn. Blocking; on the turn's thread.

    Args:
        session_id: The session.
        task_id: The caller's name of the turn.
        choice: The model.
        source: The session's source, if no chat is known.
        cancel: Ends the wait for an answer.
    """

    def __init__(
        self,
        session_id: str,
        task_id: str | None,
        choice: ModelChoice,
        source: str,
        cancel: CancelSignal,
    ) -> None:
        self._session_id = session_id
        self._task_id = task_id or session_id
        self._choice = choice
        self._source = source
        self._cancel = cancel
        self._asked = 0
        self._asked_at = (0.0, 0.0)

    @cached_property
    def _turn_id(self) -> str:
        return f"{self._session_id}:{self._task_id}:{secrets.token_hex(4)}"

    @property
    def _who(self) -> dict[str, Any]:
        platform = get_session_env("HERMES_SESSION_PLATFORM") or self._source
        return {
            "session_id": self._session_id,
            "model": self._choice.model,
            "platform": platform,
        }

    @property
    def _turn(self) -> dict[str, Any]:
        return {**self._who, "task_id": self._task_id, "turn_id": self._turn_id}

    @property
    def _request(self) -> dict[str, Any]:
        return {
            **self._turn,
            "api_request_id": f"{self._turn_id}:api:{self._asked}",
            "provider": self._choice.provider,
            "base_url": self._choice.base_url,
            "api_mode": "chat_completions",
            "api_call_count": self._asked,
        }

    def move(self, session_id: str) -> None:
        """Use this session from now on: the conversation continues there."""
        self._session_id = session_id

    # Before the model is called

    def session_started(self) -> None:
        """Report that the first turn of a session begins."""
        self._tell("on_session_start", lambda: self._who)

    def context(
        self, text: str, history: Sequence[ConversationMessage], *, is_first_turn: bool
    ) -> str:
        """Return what plugins add to the message, "" for nothing.

        Args:
            text: The user's message.
            history: The conversation with it.
            is_first_turn: There are no earlier messages.
        """
        answers = self._ask(
            "pre_llm_call",
            lambda: {
                **self._turn,
                "user_message": text,
                "conversation_history": copy.deepcopy(list(history)),
                "is_first_turn": is_first_turn,
                "sender_id": get_session_env("HERMES_SESSION_USER_ID"),
            },
        )
        parts = [each.get("context") if isinstance(each, Mapping) else each for each in answers]
        texts = [part.strip() for part in parts if isinstance(part, str) and part.strip()]
        return clean_text("\n\n".join(texts)[:MOST_CONTEXT])

    def asking(self, request: ChatRequest) -> None:
        """Report that the model is about to be called."""
        self._asked += 1
        self._asked_at = (time.time(), time.monotonic())

        def facts() -> dict[str, Any]:
            messages = copy.deepcopy(list(request.messages))
            size = sum(len(str(each.get("content") or "")) for each in messages)
            return {
                **self._request,
                "request_messages": messages,
                "message_count": len(messages),
                "tool_count": len(request.tools),
                "request_char_count": size,
                "approx_input_tokens": size // 4,
                "max_tokens": request.max_tokens,
                "started_at": self._asked_at[0],
            }

        self._tell("pre_api_request", facts)

    # After it

    def answered(self, request: ChatRequest, reply: Reply) -> None:
        """Report that the model answered, or failed to."""
        if reply.error is not None:
            error = reply.error
            self._tell(
                "api_request_error",
                lambda: {
                    **self._request,
                    **self._times(),
                    "status_code": error.status,
                    "reason": error.kind,
                    "error": {"type": type(error).__name__, "message": error.title},
                },
            )
        elif reply.finished is not None:
            self._tell("post_api_request", lambda: self._answer_facts(request, reply))

    def _answer_facts(self, request: ChatRequest, reply: Reply) -> dict[str, Any]:
        used = reply.finished
        assert used is not None  # noqa: S101 - the caller looked
        return {
            **self._request,
            **self._times(),
            "finish_reason": used.finish_reason,
            "message_count": len(request.messages),
            "response_model": request.model,
            "usage": {
                "input_tokens": used.input_tokens,
                "output_tokens": used.output_tokens,
                "cache_read_tokens": used.cache_read_tokens,
            },
            "response": {"role": "assistant", "content": reply.text},
            "assistant_content_chars": len(reply.text),
            "assistant_tool_call_count": len(used.tool_calls),
        }

    def _times(self) -> dict[str, float]:
        took = time.monotonic() - self._asked_at[1]
        began = self._asked_at[0]
        return {"started_at": began, "ended_at": began + took, "api_duration": took}

    def over(self, result: AgentResult, text: str, history: Sequence[ConversationMessage]) -> None:
        """End the turn: let plugins change what is delivered, and notify them.

        Args:
            result: The result; its ``final_response`` may be replaced. The stored reply stays that
                of the model.
            text: The user's message.
            history: The conversation.
        """
        reply = result.get("final_response") or ""
        if result.get("completed") and reply:
            reply = result["final_response"] = self._transformed(reply)
            said = reply
            self._tell(
                "post_llm_call",
                lambda: {
                    **self._turn,
                    "user_message": text,
                    "assistant_response": said,
                    "conversation_history": copy.deepcopy(list(history)),
                },
            )
        self._tell(
            "on_session_end",
            lambda: {
                **self._turn,
                "completed": bool(result.get("completed")),
                "interrupted": bool(result.get("interrupted")),
            },
        )

    def _transformed(self, reply: str) -> str:
        answers = self._ask("transform_llm_output", lambda: {**self._who, "response_text": reply})
        texts = (clean_text(each) for each in answers if isinstance(each, str) and each)
        return next(texts, reply)

    # Calls

    def _tell(self, name: str, facts: Callable[[], dict[str, Any]]) -> None:
        if plugins.has_callbacks(name):
            self._guarded(name, lambda: plugins.invoke_hook(name, **facts()))

    def _ask(self, name: str, facts: Callable[[], dict[str, Any]]) -> list[Any]:
        if not plugins.has_callbacks(name):
            return []
        call = lambda: plugins.invoke_hook(name, **facts())  # noqa: E731 - for another thread
        return self._guarded(
            name,
            lambda: call_within(
                math.inf, call, name=f"turn-hook {name}", given_up=self._cancel.is_set
            ),
        )

    def _guarded(self, name: str, call: Callable[[], list[Any]]) -> list[Any]:
        try:
            return call()
        except TimeoutError:
            log.info("The turn was stopped; %s is not waited for", name)
        except Exception:  # the turn matters more
            log.warning("%s failed", name, exc_info=True)
        return []
