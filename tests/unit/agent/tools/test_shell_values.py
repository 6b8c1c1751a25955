"""What the judge makes of values is what a real shell makes of them, or it does not know."""

import random
import shlex
import shutil
import subprocess

import pytest

from hermes_desktop.agent.tools.danger.shell_expansion import expanded, printed
from hermes_desktop.agent.tools.danger.shell_reader import read_shell

BASH = shutil.which("bash") or ""
VALUES = {"a": "rm -rf", "b": "a", "c": "xrmx", "d": "RM", "e": "", "f": "a/b/a", "g": "ä€🙂z"}
INNER = [
    "a", "b", "e", "!b", "c#x", "c##x", "c%x", "c%%x", "c#y", "c%rmx", "c:1:2", "c:0", "c:9",
    "c:1",
    "a:3:3", "g:1:2", "d,,", "d,", "b^", "b^^", "f/a/x", "f//a/x", "f/a/", "f//\\//-", "f#a/",
    "g^^",
    "c:1:0", "e:0:1", "f/b", "c#?", "c%[x]", "c/*/x", "a: 3", "a:-x", "e:-x", "nothing", "c:(-1)",
    "a@Q", "#a", "f/#a/x", "f/%a/x", "c/r/&&", "a,,[r]",
]  # fmt: skip
PRINTED = [
    "echo rm", "echo -n rm", "echo -e '\\x72m'", "echo -E '\\x72m'", "echo -ne 'r\\nm'",
    "echo -x a",
    "echo a b", "echo", "printf rm", "printf 'r\\155'", "printf %s rm", "printf '%s\\n' rm",
    "printf %b 'r\\x6d'", "printf '%s %s' a b", "printf %d 3", "printf -- rm", "printf 'a\\tb'",
    "printf '%%'", "printf 'r\\u006d'", "echo -e 'a\\0162'", "echo -e 'a\\\\b'",
    "printf 'r\\0m'", "echo -e 'r\\x00m'",
]  # fmt: skip


def bash(text: str) -> str:
    assignments = "".join(f"{name}={shlex.quote(value)}; " for name, value in VALUES.items())
    done = subprocess.run(
        [BASH, "-c", assignments + text],
        capture_output=True,
        timeout=60,
        check=False,
        env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
    )
    return done.stdout.decode("utf-8", "surrogateescape")


@pytest.mark.skipif(not BASH, reason="no bash here")
@pytest.mark.parametrize("inner", INNER)
def test_values(inner: str) -> None:
    ours = expanded(inner, VALUES)
    assert ours is None or ours == bash(f'printf %s "${{{inner}}}"')


@pytest.mark.skipif(not BASH, reason="no bash here")
@pytest.mark.parametrize("command", PRINTED)
def test_what_is_printed(command: str) -> None:
    program, *args = shlex.split(command)
    ours = printed(program, args, ())
    assert ours is None or ours == bash(f'printf %s "$({command})"')


@pytest.mark.skipif(not BASH, reason="no bash here")
@pytest.mark.parametrize("program", ["cat", "rev", "base64 -d"])
@pytest.mark.parametrize("given", ["cm0=", "rm -rf /", "a\nb\n", "", "cm0", "ä"])
def test_what_is_read_and_printed(program: str, given: str) -> None:
    name, *args = program.split()
    ours = printed(name, args, (given,))
    told = bash(f'printf %s "$({program} 2>/dev/null <<< {shlex.quote(given)})"')
    assert ours is None or ours == told


PIECES = [
    "rm", "'rm'", '"rm"', "r\\m", "r''m", "$'r\\x6d'", "$a", '"$a"', "${c#x}", "{a,b}", "a{b,c}d",
    "$e",
    "x$e", "'$a'", "\\$a", "$(echo rm)", '"$(echo r m)"', "$(printf 'a b')", "$b$b",
    "a{,b}", "'a b'", "${d,,}", "\"a'b\"", "a\\ b", "$(rev <<< mr)", "{a,'b,c'}", "~", "--x=$a",
]  # fmt: skip


@pytest.mark.skipif(not BASH, reason="no bash here")
@pytest.mark.parametrize("seed", range(40))
def test_words(seed: int) -> None:
    """Words that count as known are those that a shell makes."""
    chance = random.Random(seed)
    text = " ".join(chance.choice(PIECES) for _ in range(4))
    setup = "; ".join(f"{name}={shlex.quote(value)}" for name, value in VALUES.items())
    (command,) = [
        each
        for each in read_shell(f"{setup}; show {text}").commands
        if each.words and each.words[0].text == "show"
    ]
    ours = command.words[1:]
    assert not any(each.opaque for each in ours)
    told = bash(f"HOME='~'; show() {{ printf '<%s>' \"$@\"; }}; show {text}")
    assert "".join(f"<{each.text}>" for each in ours) == told
