"""Files that ship with the program: images, demo texts, the user guide."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[2]


def shipped_path(*parts: str) -> Path:
    """Return the path of a shipped file or folder, in an installed package or a checkout.

    Raises:
            FileNotFoundError: The installation is incomplete.
    """
    for folder in (_PACKAGE / "_resources", _PACKAGE.parent / "resources"):
        candidate = folder.joinpath(*parts)
        if candidate.exists():
            return candidate
    raise FileNotFoundError(f"The installation lacks {'/'.join(parts)}")
