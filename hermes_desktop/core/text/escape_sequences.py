"""Removal of a terminal's escape sequences from the output of programs.

They could write to the clipboard, retitle a window, hide a link, or make a terminal answer as if
someone typed. Colors go too: a secret with a color in the middle of it would not be recognized.
"""

import re

_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colors, cursor, reports, modes
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\r\n]*(?:\x07|\x1b\\|\x9c)?"  # OSC: title, links, clipboard
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c\r\n]*(?:\x1b\\|\x9c)?"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]?"  # everything else, also one that was cut off
)
_CONTROLS = re.compile(r"[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def without_escape_sequences(text: str) -> str:
    """Return a text without escape sequences; other control characters stay."""
    return _SEQUENCES.sub("", text)


def plain_output(text: str) -> str:
    """Return the output of a program as plain text: no escape sequences, no control characters.

    Tabs, line ends, carriage returns and backspaces stay; they only move within a line.
    """
    return _CONTROLS.sub("", _SEQUENCES.sub("", text))
