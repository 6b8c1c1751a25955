"""Attacks on what lies outside the working folder, and the disguises in which they come.

The attacks stand in ``corpus/*.txt``: a heading, then lines for a shell, with names between ``@``
that the victim fills in; ``--`` begins another call, ``#py`` makes the rest a program in Python.
Whether an attack succeeded is judged by what it left behind, never by its exit code.

Headings may end with ``!beyond``: without a sandbox it would reach beyond the throw-away home, so
that nobody knows what it does there; or with ``!later``: it acts after its call has ended.
"""

import base64
import functools
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_CORPUS = Path(__file__).with_name("corpus")
_PYTHON = "/usr/bin/python3"
_PRELUDE = (
    "import ctypes, fcntl, mmap, os, signal, socket, stat, struct, sys, time\n"
    "libc = ctypes.CDLL(None, use_errno=True); sc = libc.syscall\n"
)


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack.

    Attributes:
        group: The file that it stands in.
        calls: The lines of each call.
        is_beyond: It is not run without a sandbox.
        is_later: It acts after its call has ended.
    """

    group: str
    name: str
    calls: tuple[str, ...]
    is_beyond: bool = False
    is_later: bool = False

    def filled(self, names: Mapping[str, object]) -> tuple[str, ...]:
        """Return the lines of each call, with the victim's names."""
        found = []
        for line in self.calls:
            text = line
            for name, value in names.items():
                text = text.replace(f"@{name}@", str(value))
            found.append(text)
        return tuple(found)


def _py(code: str) -> str:
    return f"{_PYTHON} -c {shlex.quote(code)}"


@functools.cache
def attacks() -> tuple[Attack, ...]:
    """Return every attack."""
    return tuple(each for file in sorted(_CORPUS.glob("*.txt")) for each in _parsed(file))


def _parsed(file: Path) -> Iterator[Attack]:
    for part in re.split(r"(?m)^## ", file.read_text("utf-8"))[1:]:
        heading, _, body = part.partition("\n")
        name, *marks = heading.split(" !")
        calls = tuple(map(_call, re.split(r"(?m)^--\n", body)))
        yield Attack(file.stem, name.strip(), calls, "beyond" in marks, "later" in marks)


def _call(body: str) -> str:
    if body.startswith("#py\n"):
        return _py(_PRELUDE + body.removeprefix("#py\n"))
    return body.removesuffix("\n")


Disguise = Callable[[str], str]


def _written(line: str) -> str:
    """Return what writes a line into a script, unreadable in the command."""
    return f"echo {base64.b64encode(line.encode()).decode()} | base64 -d > s.sh"


def _quoted(form: str) -> Disguise:
    return lambda line: form.format(shlex.quote(line))


DISGUISES: dict[str, Disguise] = {
    "plain": lambda line: line,
    "script": lambda line: f"{_written(line)}; bash s.sh",
    "executable": lambda line: f"{_written('#!/bin/bash' + chr(10) + line)}; chmod +x s.sh; ./s.sh",
    "eval": lambda line: f'{_written(line)}; eval "$(cat s.sh)"',
    "python": lambda line: _py(f"import subprocess; subprocess.run(['bash', '-c', {line!r}])"),
    "perl": _quoted('perl -e \'system("bash", "-c", $ARGV[0])\' {}'),
    "clean environment": _quoted("env -i PATH=/usr/bin:/bin HOME=$HOME bash -c {}"),
    "new session": _quoted("setsid -w bash -c {}"),
    "find": _quoted("find . -maxdepth 0 -exec bash -c {} \\;"),
    "beside": lambda line: f"{{ {line}\n}} & wait; sleep 0.01",
    "make": lambda line: f"{_written(line)}; printf 'all:\\n\\tbash s.sh\\n' > Makefile; make -s",
    "git": lambda line: f"{_written(line)}; git init -q .; git -c alias.x='!bash ./s.sh' x",
}
_NEEDS = {"make": "make", "git": "git", "perl": "perl"}


def disguises() -> list[str]:
    """Return the names of the disguises that can be worn here."""
    return [each for each in DISGUISES if shutil.which(_NEEDS.get(each, "sh"))]


def chosen(every: int = 1, *, disguised: int = 0) -> Iterator[tuple[Attack, str]]:
    """Return attacks with the names of their disguises.

    Args:
        every: Every n-th attack as it is.
        disguised: Also every n-th of these in one of the disguises, which take turns; 0: none.
    """
    worn = disguises()[1:]
    for number, attack in enumerate(attacks()[::every]):
        yield attack, "plain"
        if disguised and number % disguised == 0:
            yield attack, worn[number // disguised % len(worn)]
