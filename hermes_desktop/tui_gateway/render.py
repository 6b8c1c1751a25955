"""Replies for a terminal that cannot render Markdown itself: where a peer wants that.

In this version no peer can ask for it: what comes is the text of the model, and whoever shows it
has to make control characters in it harmless.
"""

from typing import Any


def make_stream_renderer(cols: int) -> Any:  # noqa: ARG001 - the width of the terminal
    """A renderer with ``feed(text)``; None: nothing is rendered."""
    return None


def render_message(text: str, cols: int) -> str | None:  # noqa: ARG001 - as above
    """A whole reply; None: nothing is rendered."""
    return None
