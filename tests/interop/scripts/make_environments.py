"""Makes one virtual environment per hermes-agent release, once, in a folder that is kept.

Run by hand or by CI: ``python tests/interop/scripts/make_environments.py FOLDER [VERSION …]``. A
release whose environment is complete is left as it is.
"""

import subprocess
import sys
from pathlib import Path

VERSIONS = ("0.13.0", "0.16.0", "0.18.2")
_COMPLETE = "complete"


def environment(folder: Path, version: str) -> Path:
    """Where the environment of a release lies, whether it was made or not."""
    return folder / f"hermes-agent-{version}"


def is_complete(folder: Path, version: str) -> bool:
    """Whether everything of that release was installed."""
    return (environment(folder, version) / _COMPLETE).exists()


def make(folder: Path, version: str) -> None:
    """Make the environment of one release; one that was left half made is made again."""
    place = environment(folder, version)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "--disable-pip-version-check", f"hermes-agent=={version}"], check=True)
    (place / _COMPLETE).touch()


def main() -> None:
    folder = Path(sys.argv[1]).absolute()
    for version in sys.argv[2:] or VERSIONS:
        if not is_complete(folder, version):
            make(folder, version)
        print(environment(folder, version))


if __name__ == "__main__":
    main()
