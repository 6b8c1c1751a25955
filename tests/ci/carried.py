"""The parts of this machine's configuration for a bare root: how packages are fetched.

That is the configuration of apt and pip, the certificates and the proxies, and nothing else. No
mirror is named in the project: it is configured in these files of the machine.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

_VARIABLE = re.compile(
    r"(https?|ftp|all|no)_proxy|PIP_\w+|\w*_(CERTS?|CERTS?_FILE|CERT_DIR|CA_BUNDLE|CAINFO)",
    re.IGNORECASE,
)
_LISTED = re.compile(r"(?P<section>\w+):\s*$|\s+(?P<file>/.*), exists: (?P<exists>True|False)\s*$")
_TOO_HIGH = 2  # parts of a path: "/" and "/opt" are not mounted as a whole


def carried_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return proxies, certificates and the settings of pip from the environment."""
    return {name: value for name, value in environ.items() if _VARIABLE.fullmatch(name)}


def pip_files(debug: str) -> list[Path]:
    """Return the existing configuration files in the output of ``pip config debug``.

    A file of the current virtual environment (``site``) belongs to that environment alone.
    """
    section, files = "", []
    for line in debug.splitlines():
        found = _LISTED.match(line)
        if found and found["section"]:
            section = found["section"]
        elif found and found["exists"] == "True" and section != "site":
            files.append(Path(found["file"]))
    return files


def pip_values(listed: str) -> list[str]:
    """Return the values in the output of ``pip config list``; one setting may hold several."""
    values = []
    for line in listed.splitlines():
        _, sign, value = line.partition("=")
        if sign:
            values += str(ast.literal_eval(value)).split()
    return values


def local_places(values: Iterable[str]) -> list[Path]:
    """Return existing files and folders that the values name, as paths or ``file://`` URLs."""
    places = []
    for value in values:
        address = urlsplit(value)
        if address.scheme == "file":
            places.append(Path(unquote(address.path)))
        elif value.startswith("/"):
            places.append(Path(value))
    return [place for place in dict.fromkeys(places) if place.exists()]


def mounted_folders(places: Iterable[Path]) -> list[Path]:
    """Return the folders to mount inside, each once, none within another.

    The pages of an index refer to files next to its folder, so its parent folder is mounted, unless
    that is ``/`` or directly below it.
    """
    above = {
        place.parent if len(place.parent.parts) > _TOO_HIGH else place
        for place in (place.resolve() for place in places)
        if place.is_dir()
    }
    return sorted(folder for folder in above if not above & set(folder.parents))


def pip_says(*words: str) -> str:
    """Run ``pip config`` of this interpreter."""
    command = [sys.executable, "-m", "pip", "config", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
