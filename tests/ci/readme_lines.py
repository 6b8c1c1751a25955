"""The commands in the README that users paste, read from the README itself.

``python -m tests.ci.readme_lines NAME`` prints one of them.
"""

import re
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]


def readme_line(name: str, text: str | None = None) -> str:
    """Return the command between ``<!-- command: NAME -->`` and ``<!-- end -->``.

    Raises:
        ValueError: There is none, or more than one line.
    """
    if text is None:
        text = CHECKOUT.joinpath("README.md").read_text(encoding="utf-8")
    found = re.findall(
        rf"<!-- command: {re.escape(name)} -->\n```\w*\n(.*?)\n```\n<!-- end -->", text, re.DOTALL
    )
    if len(found) != 1 or not found[0].strip() or "\n" in found[0]:
        raise ValueError(f"README.md has no single line for the command {name!r}")
    return str(found[0])


if __name__ == "__main__":
    print(readme_line(sys.argv[1]))
