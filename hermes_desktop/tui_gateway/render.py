"""Rendering of replies for a terminal that cannot display Markdown, on a peer's request.

In this version no peer can request it: peers receive the text of the model, and have to escape
control characters in it.
"""

from typing import Any


def make_stream_renderer(cols: int) -> Any:  # noqa: ARG001 - the width of the terminal
    """Return a renderer with ``feed(text)``; None: nothing is rendered."""
    return None


def render_message(text: str, cols: int) -> str | None:  # noqa: ARG001 - as above
    """Return a rendered reply; None: nothing is rendered."""
    return None
