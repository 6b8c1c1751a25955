"""Fixed answers for the demo and for tests. No model is called, and each reply says so.

This provider is never chosen automatically: it answers only where it was created on purpose.
"""

import re
import threading
from collections.abc import Iterator

from hermes_desktop.agent.types import (
    CancelSignal,
    ChatRequest,
    Finished,
    ModelChoice,
    StreamEvent,
    TextDelta,
)

OFFLINE_CHOICE = ModelChoice(
    model="offline-demo",
    base_url="",
    api_key=None,
    provider="offline",
    origin="the demonstration",
    kind="offline",
)

LABEL = "**Demo reply.** No model was asked; this text is a script."

_CODE = """Here is a small function that counts words:

```python
from collections import Counter


def most_common(text: str, count: int = 3) -> list[tuple[str, int]]:
    \"\"\"The words that occur most, with how often.\"\"\"
    words = text.casefold().split()
    return Counter(words).most_common(count)


print(most_common("to be or not to be"))
```

It prints `[('to', 2), ('be', 2), ('or', 1)]`. Two things to know:

1. `casefold` treats *Straße* and *STRASSE* alike.
2. Punctuation stays on its word; strip it first if that matters."""

_TABLE = """The three places where Hermes keeps things, side by side:

| What | Where | Who may write |
|---|---|---|
| Sessions and messages | `state.db` | the app and the `hermes` command |
| Settings | `config.yaml` | you, with any editor |
| Window size, drafts | `desktop/` | the app alone |

All of it stays on this machine. A copy of the folder is a backup,
as long as no program has it open."""

_LIST = """A plan in small steps:

- **Today:** write down what the result should look like.
- **Tomorrow:** build the smallest thing that shows it.
  - Leave out what nobody sees.
  - Keep what you would be sorry to lose.
- **Then:** show it to one person and listen.

> A plan is a guess with a date on it."""

_PLAIN = """This window shows what a reply looks like while it arrives: word by word, with
*emphasis*, `inline code` and [links](https://example.org/). A short block and a list, so that
nothing is missing:

```sh
hermes-desktop sessions list --limit 5
```

- Ask for **code** to see a longer block.
- Ask for a **table** or a **plan** to see those.

| Key | Does |
|---|---|
| Enter | sends |
| Shift+Enter | breaks the line |"""

_SCRIPTS = (
    (re.compile(r"\b(code|function|python|script|program|bug)", re.IGNORECASE), _CODE),
    (re.compile(r"\b(table|compare|where|list all|columns?)\b", re.IGNORECASE), _TABLE),
    (re.compile(r"\b(plan|steps?|todo|ideas?|how do)\b", re.IGNORECASE), _LIST),
)
_WORD = re.compile(r"\s*\S+|\s+$")


class OfflineProvider:
    """A :class:`ChatProvider` that replies with one of a few fixed texts, word by word.

    Args:
        choice: The model it claims to be.
        delay_s: Pause between two words, seconds; 0 for tests.
        reply: The exact reply after the label, whatever the question was.
    """

    def __init__(
        self,
        choice: ModelChoice = OFFLINE_CHOICE,
        delay_s: float = 0.02,
        *,
        reply: str | None = None,
    ) -> None:
        self.choice = choice
        self._delay_s = delay_s
        self._reply = reply

    def stream(self, request: ChatRequest, *, cancel: CancelSignal) -> Iterator[StreamEvent]:
        """Yield the text that fits the last question; see :meth:`ChatProvider.stream`."""
        body = self._reply if self._reply is not None else script_for(_question(request))
        pause = threading.Event()
        words = _WORD.findall(f"{LABEL}\n\n{body}")
        for word in words:
            if cancel.is_set():
                return
            yield TextDelta(word)
            if self._delay_s > 0:
                pause.wait(self._delay_s)
        yield Finished("stop")

    def close(self) -> None:
        """Do nothing: there are no connections."""


def script_for(question: str) -> str:
    """Return the scripted text for a question; always the same for the same question."""
    for pattern, text in _SCRIPTS:
        if pattern.search(question):
            return text
    return _PLAIN


def _question(request: ChatRequest) -> str:
    for message in reversed(request.messages):
        if message.get("role") == "user":
            content = message.get("content")
            return content if isinstance(content, str) else ""
    return ""
