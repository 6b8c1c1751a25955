"""Wheel and source archive, made by hatchling."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from linux.facts import CHECKOUT, this_release

SUFFIXES = {"wheel": ".whl", "sdist": ".tar.gz"}


def build_python_package(kind: str, dist: Path) -> Path:
    """Make one file of :data:`SUFFIXES` in a folder; the same commit gives the same bytes.

    Raises:
        SystemExit: hatchling is missing.
    """
    if importlib.util.find_spec("hatchling") is None:
        raise SystemExit(
            "hatchling is missing: pip install 'hatchling>=1.25'. The package python3-hatchling is"
            " new enough in Debian 13, not in Debian 12."
        )
    release = this_release()
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(dist)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(release.epoch)}
    subprocess.run(command, cwd=CHECKOUT, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = "-*" if kind == "wheel" else ""
    (made,) = dist.glob(f"hermes_desktop-{release.version}{after}{SUFFIXES[kind]}")
    return made
