"""One command, written in thousands of ways that a shell understands: none passes unseen.

Each of these ways was run by a real shell in a folder without programs when it was written down.
"""

import base64
import random
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_desktop.agent.tools.danger.assessment import judge
from hermes_desktop.agent.tools.danger.danger_paths import Places

PLACES = Places(Path("/home/otto/work"), Path("/home/otto"), Path("/home/otto/.hermes"))
CASES = 150
_NEVER = 0.8
"""How many of them are told to be never done, at least; the others wait for a word."""


class Writer:
    """Writes ``rm -rf /`` in some way."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self._names = 0

    def command(self) -> str:
        """The command, perhaps within others."""
        text = self._plain()
        for _ in range(self.chance.choice((0, 0, 1, 1, 2))):
            text = self.chance.choice(WRAPS)(text)
        return text

    def _plain(self) -> str:
        whole = (
            "{rm,-rf,/}",
            "x='rm -rf /'; $x",
            'a=(rm -rf /); "${a[@]}"',
            "/bin/r? -rf /",
            'set -- rm -rf /; "$@"',
            'f() { "$@"; }; f rm -rf /',
            "f() { rm -rf $1; }; f /",
        )
        if self.chance.random() < 0.5:
            return self.chance.choice(whole)
        pairs = [self._word(each) for each in ("rm", "-rf", "/")]
        between = self.chance.choice((" ", "  ", "\t", "${IFS}"))
        return "".join(first for first, _ in pairs) + between.join(then for _, then in pairs)

    def _name(self) -> str:
        self._names += 1
        return f"v{self._names}"

    def _word(self, text: str) -> tuple[str, str]:
        """What stands before the command, and the word itself."""
        one, two, at = self._name(), self._name(), self.chance.randrange(len(text))
        quoted, head, tail = shlex.quote(text), shlex.quote(text[:at]), shlex.quote(text[at:])
        return self.chance.choice(
            (
                ("", text),
                ("", f"'{text}'"),
                ("", f'"{text}"'),
                ("", "".join(f"\\{each}" for each in text)),
                ("", f"{text[:at]}''{text[at:]}"),
                ("", "$'" + "".join(f"\\x{ord(each):02x}" for each in text) + "'"),
                ("", "$'" + "".join(f"\\{ord(each):03o}" for each in text) + "'"),
                (f"{one}={quoted}; ", f"${one}"),
                (f"{one}={head} {two}={tail}; ", f"${{{one}}}${{{two}}}"),
                ("", f"$(printf %s {quoted})"),
                ("", f"`printf %s {quoted}`"),
                ("", f"${{{one}:-{text}}}"),
                (f"{one}=x{text}; ", f"${{{one}#x}}"),
                (f"{one}={text}zz; ", f"${{{one}:0:{len(text)}}}"),
                (f"{one}={quoted}; {two}={one}; ", f"${{!{two}}}"),
                (f"{one}=({quoted} b); ", f"${{{one}[0]}}"),
                (f"read -r {one} <<< {quoted}; ", f"${one}"),
                (f"printf -v {one} %s {quoted}; ", f"${one}"),
                (f"{one}={shlex.quote(text.upper())}; ", f"${{{one},,}}"),
                ("", f"$(base64 -d <<< {_coded(text)})"),
                ("", f"$(rev <<< {shlex.quote(text[::-1])})"),
                (f"declare {one}={quoted}; ", f'"${one}"'),
            )
        )


def _coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _told(form: str) -> Callable[[str], str]:
    """A way to start a command: as it stands, quoted, or in a code."""
    return lambda text: form.format(text, q=shlex.quote(text), b=_coded(text))


WRAPS = [
    _told(each)
    for each in (
        "eval {q}", "bash -c {q}", "sh -c {q}", "echo {q} | bash", "bash <<< {q}", "echo $({0})",
        "({0})", "{{ {0}; }}", "if true; then {0}; fi", "while true; do {0}; break; done",
        "for i in 1; do {0}; done", "case x in x) {0};; esac", "g() {{ {0}; }}; g",
        "function h {{ {0}; }}; h", "trap {q} EXIT", "timeout -s KILL 5 bash -c {q}",
        "env X=1 bash -c {q}", "nohup nice -n 1 bash -c {q}", "source <(echo {q})",
        "echo {b} | base64 -d | bash", "printf %s {q} | sh", "cat <(bash -c {q})",
        "[[ 1 ]] && {{ {0}; }}", "((1)) && {{ {0}; }}", "true; {0}", "! {{ {0}; }}",
        "bash -o pipefail -c {q}", "exec bash -c {q}", 'c={q}; eval "$c"', 'c={q}; bash -c "$c"',
        "# x\n{0}", "xargs -I% bash -c % <<< {q}", "bash <<'E'\n{0}\nE\n",
        'b={b}; bash -c "$(base64 -d <<< $b)"',
    )
]  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_however_it_is_written(seed: int) -> None:
    writer = Writer(seed)
    never = 0
    for _ in range(CASES):
        command = writer.command()
        dangers = judge(command, PLACES).dangers
        assert dangers, command
        never += any(each.hard for each in dangers)
    assert never > _NEVER * CASES
