"""The releases of Debian that a package is made for: what they have, and what they lack."""

from dataclasses import dataclass
from pathlib import Path

PACKAGE = "hermes-desktop-qt"
"""Not ``hermes-desktop``: packages of the official program have that name."""
_LIBRARIES = (
    *("libc6 (>= 2.34)", "libstdc++6", "libgcc-s1", "zlib1g", "libzstd1", "libdbus-1-3"),
    *("libegl1", "libgl1", "libfontconfig1", "libfreetype6", "libglib2.0-0", "libgssapi-krb5-2"),
    *("libbrotli1", "libx11-6", "libx11-xcb1", "libxkbcommon0", "libxkbcommon-x11-0", "libxcb1"),
    *("libxcb-cursor0", "libxcb-glx0", "libxcb-icccm4", "libxcb-image0", "libxcb-keysyms1"),
    *("libxcb-randr0", "libxcb-render0", "libxcb-render-util0", "libxcb-shape0", "libxcb-shm0"),
    *("libxcb-sync1", "libxcb-util1", "libxcb-xfixes0", "libxcb-xkb1"),
    *("libwayland-client0", "libwayland-cursor0", "libwayland-egl1"),
)
"""What the carried Qt links to; its GTK theme is loaded only where a desktop installed GTK."""


@dataclass(frozen=True)
class DebianRelease:
    """One release.

    Attributes:
        number: Its number.
        python: Its Python, as "3.11".
        architecture: Of the package; "all" if it carries no machine code.
        depends: The packages that are used from Debian, besides Python.
    """

    number: int
    python: str
    architecture: str
    depends: tuple[str, ...]

    @property
    def bundle(self) -> Path:
        """The pinned wheels that the package carries."""
        return Path(__file__).with_name(f"bundle-{self.number}.txt")


RELEASES = {
    12: DebianRelease(
        number=12,
        python="3.11",
        architecture="amd64",
        depends=(
            *("python3-anyio", "python3-certifi", "python3-click (>= 8.1)", "python3-idna"),
            *("python3-importlib-metadata", "python3-jaraco.classes", "python3-jaraco.context"),
            *("python3-jaraco.functools", "python3-jeepney", "python3-mdurl"),
            "python3-secretstorage",
            *_LIBRARIES,
        ),
    ),
    13: DebianRelease(
        number=13,
        python="3.13",
        architecture="all",
        depends=(
            *("python3-click (>= 8.1)", "python3-httpx (>= 0.28)", "python3-jeepney (>= 0.8)"),
            "python3-keyring (>= 25.5)",
            *("python3-markdown-it (>= 3)", "python3-platformdirs (>= 4.3)"),
            *("python3-pygments (>= 2.18)", "python3-rich (>= 13.9)", "python3-secretstorage"),
            *("python3-typing-extensions (>= 4.12)", "python3-yaml (>= 6.0.2)"),
            *("python3-pyside6.qtcore (>= 6.8)", "python3-pyside6.qtdbus", "python3-pyside6.qtgui"),
            *("python3-pyside6.qtnetwork", "python3-pyside6.qtsvg", "python3-pyside6.qtwidgets"),
            *("qt6-svg-plugins", "qt6-wayland"),
        ),
    ),
}
