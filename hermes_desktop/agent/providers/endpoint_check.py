"""Check of a model at an address: its list is read, then one short question is sent."""

import time
from dataclasses import dataclass
from typing import Literal

from hermes_desktop.agent.context_length import ENOUGH
from hermes_desktop.agent.providers.base import Retries, TimeOuts
from hermes_desktop.agent.providers.local_servers import probe_context, too_small
from hermes_desktop.agent.providers.model_list import ListedModel, nearest
from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider
from hermes_desktop.agent.providers.shared_tls import SharedTls
from hermes_desktop.agent.types import CancelSignal, ChatRequest, Finished, ModelChoice
from hermes_desktop.core.errors import CannotReachError, ProviderError
from hermes_desktop.core.log_setup import SecretRedactor

EndpointKind = Literal[
    "ok", "refused", "unreachable", "model_missing", "misconfigured", "failed", "cancelled"
]
_QUESTION = "Answer with the single word: ready"
_SHORT = 16
_PATIENT = TimeOuts(connect=5.0, first_byte=60.0, between=20.0)
_KINDS: dict[str, EndpointKind] = {
    "auth": "refused",
    "billing": "refused",
    "model_missing": "model_missing",
    "address": "misconfigured",
}


@dataclass(frozen=True, slots=True)
class EndpointAnswer:
    """The result of checking an endpoint. Contains no key.

    Attributes:
        kind: ``ok``; ``refused`` (the key, or an account without credit); ``unreachable``;
            ``model_missing``; ``misconfigured`` (there is no such endpoint at the address);
            ``failed`` (it answers, but not now); ``cancelled``.
        words: What happened, as a sentence, with the endpoint's own message.
        hint: What to do about it; with ``ok`` what to know about the model, or "".
        models: Names of the models it lists; empty where it does not list them.
        context_length: The size of the model's context, where it is known.
        seconds: How long the model took to answer, or the endpoint to refuse.
    """

    kind: EndpointKind
    words: str
    hint: str = ""
    models: tuple[str, ...] = ()
    context_length: int | None = None
    seconds: float = 0.0


def check_endpoint(
    choice: ModelChoice,
    *,
    cancel: CancelSignal,
    redactor: SecretRedactor | None = None,
    tls: SharedTls | None = None,
) -> EndpointAnswer:
    """Check whether a model answers. Blocking; ends within a fraction of a second when cancelled.

    Args:
        choice: Address, key and model; without a model only the list is read.
        cancel: Cancels the check.
        redactor: Keeps secrets out of the messages.
        tls: Shared with other providers.
    """
    provider = OpenAICompatibleProvider(
        choice, timeouts=_PATIENT, retries=Retries(count=0), redactor=redactor, tls=tls
    )
    began = time.monotonic()
    listed: tuple[ListedModel, ...] | None = None
    try:
        listed = provider.models(cancel=cancel)
        if cancel.is_set():
            return EndpointAnswer("cancelled", "The check was stopped.")
        if not choice.model:
            return _without_model(choice, listed, time.monotonic() - began)
        began = time.monotonic()
        if not _answers(provider, choice, cancel):
            return EndpointAnswer("cancelled", "The check was stopped.")
        return _good(choice, listed or (), time.monotonic() - began)
    except ProviderError as error:
        return _bad(choice, error, listed or (), time.monotonic() - began)
    finally:
        provider.close()


def _answers(provider: OpenAICompatibleProvider, choice: ModelChoice, cancel: CancelSignal) -> bool:
    request = ChatRequest(choice.model, ({"role": "user", "content": _QUESTION},), _SHORT)
    # A thinking model may use all of its few tokens for that: what counts is that it ends.
    return any(isinstance(event, Finished) for event in provider.stream(request, cancel=cancel))


def _good(choice: ModelChoice, listed: tuple[ListedModel, ...], seconds: float) -> EndpointAnswer:
    length = choice.context_length or _listed_context(choice.model, listed)
    if length is None:
        length = probe_context(choice)
    hint = ""
    if too_small(length):
        hint = f"{ENOUGH:,} tokens or more are recommended: load the model with a larger context."
    words = f"“{choice.model}” answered in {seconds:.1f} s."
    return EndpointAnswer("ok", words, hint, _ids(listed), length, seconds)


def _without_model(
    choice: ModelChoice, listed: tuple[ListedModel, ...] | None, seconds: float
) -> EndpointAnswer:
    if listed is None:
        return EndpointAnswer(
            "misconfigured",
            "The address responds, but it lists no models.",
            "Enter a model, or correct the address; it usually ends in /v1.",
            seconds=seconds,
        )
    words = f"{choice.who} offers {len(listed)} model{'' if len(listed) == 1 else 's'}."
    return EndpointAnswer("ok", words, "", _ids(listed), None, seconds)


def _bad(
    choice: ModelChoice, error: ProviderError, listed: tuple[ListedModel, ...], seconds: float
) -> EndpointAnswer:
    kind = _KINDS.get(error.reason, "failed")
    if isinstance(error, CannotReachError):
        kind = "unreachable"
    hint = error.hint
    ids = _ids(listed)
    if kind == "model_missing" and choice.model and ids:
        near = nearest(choice.model, ids)
        if near:
            hint = f"Did you mean {' or '.join(near)}?"
    elif kind == "model_missing" and not ids:
        kind = "misconfigured"
    words = " ".join(part for part in (error.title, error.detail) if part)
    return EndpointAnswer(kind, words, hint, ids, None, seconds)


def _listed_context(model: str, listed: tuple[ListedModel, ...]) -> int | None:
    return next((each.context_length for each in listed if each.id == model), None)


def _ids(listed: tuple[ListedModel, ...]) -> tuple[str, ...]:
    return tuple(each.id for each in listed)
