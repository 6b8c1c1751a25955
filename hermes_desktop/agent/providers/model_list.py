"""The models that an endpoint offers, and suggestions for a mistyped model name."""

import difflib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from hermes_desktop.agent.providers.response_values import context_in_entry, entries

_MOST_NEAR = 3
_NEAR_ENOUGH = 0.5
_SIGNS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class ListedModel:
    """An entry of an endpoint's list.

    Attributes:
        id: The model's name in requests.
        context_length: The size of its context; None: not listed.
    """

    id: str
    context_length: int | None = None


def read_models(body: bytes) -> tuple[ListedModel, ...] | None:
    """Return the models in a response of ``/models``; None where it is not such a list."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if isinstance(answer, list):  # some omit the mapping around it
        answer = {"data": answer}
    if not isinstance(answer, dict) or not {"data", "models"} & set(answer):
        return None
    models = {}
    for entry in entries(answer, "data", "models"):
        name = str(entry.get("id") or entry.get("name") or "").removeprefix("models/")
        if name:
            models[name] = ListedModel(name, context_in_entry(entry))
    return tuple(models.values())


def nearest(wanted: str, ids: Iterable[str]) -> tuple[str, ...]:
    """Return the names most similar to the wanted one, the best match first; three at most."""
    plain = _plain(wanted)
    scored = []
    for name in ids:
        other = _plain(name)
        score = difflib.SequenceMatcher(None, plain, other).ratio()
        # The same model with another vendor's prefix, or without the date of its version.
        if plain and (other.startswith(plain) or plain.startswith(other)) and other:
            score += 0.5
        if score >= _NEAR_ENOUGH:
            scored.append((-score, name))
    return tuple(name for _, name in sorted(scored)[:_MOST_NEAR])


def _plain(name: str) -> str:
    return _SIGNS.sub("", name.lower().rpartition("/")[2])
