"""What documents tell users to type, click and open exists."""

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from hermes_desktop.cli.main import PROGRAM, root

CHECKOUT = Path(__file__).parents[2]
GUIDE = "resources/docs/guide.md"
WITH_COMMANDS = ("README.md", "SECURITY.md", GUIDE, "resources/docs/sandbox.md")
DOCUMENTS = (
    *sorted(file.name for file in CHECKOUT.glob("*.md")),
    *sorted(
        file.relative_to(CHECKOUT).as_posix()
        for file in (CHECKOUT / "resources" / "docs").rglob("*.md")
    ),
)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+(?:\n[^`\n]+)?)`")
LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
BOLD = re.compile(r"\*\*([^*\n]+(?:\n[^*\n]+)?)\*\*")
END_OF_COMMAND = frozenset({"|", "&&", ";", ">", "<"})


@cache
def text_of(document: str) -> str:
    return (CHECKOUT / document).read_text(encoding="utf-8")


def without_code(document: str) -> str:
    return SPAN.sub("", FENCE.sub("", text_of(document)))


# ------------------------------------------------------------------------------ commands


def command_lines(text: str) -> Iterator[str]:
    """Return every line of a shell block, and every span, that runs the program."""
    for language, block in FENCE.findall(text):
        if language in {"bash", "console"}:
            yield from (line for line in block.splitlines() if PROGRAM in line)
    for span in SPAN.findall(FENCE.sub("", text)):
        if re.match(rf"{PROGRAM} \S", span):
            yield span


def arguments_of(line: str) -> Iterator[list[str]]:
    """Return the arguments of each run of the program in a line of shell."""
    for inner in re.findall(r"\$\(([^)]+)\)", line):
        yield from arguments_of(inner)
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    found: list[str] | None = None
    for word in lexer:
        if word in END_OF_COMMAND:
            if found is not None:
                yield found
            found = None
        elif found is not None:
            found.append(word)
        elif Path(word).name == PROGRAM:
            found = []
    if found is not None:
        yield found


def parse(arguments: list[str]) -> None:
    """Parse a command line as the program would, and run nothing.

    Raises:
        click.ClickException: The program would refuse it.
    """
    command: click.Command = root
    context = command.make_context(PROGRAM, list(arguments))
    while isinstance(command, click.Group):
        rest = [*context._protected_args, *context.args]
        if not rest:
            assert command.invoke_without_command, f"{context.command_path} needs a command"
            return
        name, found, rest = command.resolve_command(context, rest)
        assert found is not None
        command = found
        context = command.make_context(name, rest, parent=context)


@pytest.mark.parametrize("document", WITH_COMMANDS)
def test_the_program_accepts_every_command_line(document: str) -> None:
    refused = []
    for line in command_lines(text_of(document)):
        for arguments in arguments_of(line):
            try:
                parse(arguments)
            except click.exceptions.Exit:
                pass  # --help and --version
            except (click.ClickException, AssertionError) as error:
                refused.append(f"{line}: {getattr(error, 'message', error)}")

    assert not refused


@pytest.mark.parametrize("document", ["README.md", GUIDE])
def test_there_are_command_lines_to_check(document: str) -> None:
    assert len(list(command_lines(text_of(document)))) > 3


@pytest.mark.parametrize(
    "line",
    [
        "hermes-desktop sessions lst",
        "hermes-desktop sessions list --limmit 3",
        "hermes-desktop sessions rename x | cut -f1 && hermes-desktop chat",
        'echo "$(hermes-desktop config gett x)"',
        "hermes-desktop config",
    ],
)
def test_a_mistake_is_found(line: str) -> None:
    with pytest.raises((click.ClickException, AssertionError)):
        list(map(parse, arguments_of(line)))


# -------------------------------------------------------------------------------- labels


@cache
def texts_of_the_program() -> frozenset[str]:
    """Return every text in the code, without the ampersands that mark access keys."""
    trees = (
        ast.parse(file.read_text(encoding="utf-8"))
        for file in (CHECKOUT / "hermes_desktop").rglob("*.py")
    )
    texts = (
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return frozenset(text.replace("&", "") for text in texts)


def test_every_label_in_the_guide_is_a_text_of_the_program() -> None:
    """In the guide, what is bold is what one reads on the screen."""
    labels = BOLD.findall(without_code(GUIDE))

    assert len(labels) > 50
    assert not sorted({label for label in labels if label not in texts_of_the_program()})


def test_every_setting_in_the_guide_is_in_the_reference() -> None:
    known = set(re.findall(r"^### `(.+)`$", text_of("resources/docs/settings.md"), re.MULTILINE))
    groups = {key.partition(".")[0] for key in known if "." in key}
    named = {
        span
        for span in SPAN.findall(FENCE.sub("", text_of(GUIDE)))
        if re.fullmatch(r"[a-z_]+(\.[a-z_]+)+", span) and span.partition(".")[0] in groups
    }

    assert len(named) > 10
    assert not sorted(named - known - {"gateway.json"})


# --------------------------------------------------------------------------------- links


@cache
def anchors_of(document: str) -> frozenset[str]:
    """Return the names that GitHub gives to the headings of a document."""
    seen: dict[str, int] = {}
    anchors = set()
    for heading in HEADING.findall(FENCE.sub("", text_of(document))):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        count = seen.get(name, 0)
        seen[name] = count + 1
        anchors.add(f"{name}-{count}" if count else name)
    return frozenset(anchors)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_to_files_and_headings(document: str) -> None:
    lost = []
    for link in LINK.findall(without_code(document)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (CHECKOUT / document).parent / path if path else CHECKOUT / document
        if not target.exists():
            lost.append(link)
        elif anchor:
            name = target.resolve().relative_to(CHECKOUT).as_posix()
            if anchor not in anchors_of(name):
                lost.append(link)

    assert not lost
