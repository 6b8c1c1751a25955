"""Manual pages, made from the help of the commands."""

import inspect
import re
from collections.abc import Iterator

import click

from hermes_desktop.cli.main import PROGRAM, root
from linux.facts import DISCLAIMER, Release

_EXIT_CODES = (
    ("0", "success"),
    ("1", "failure"),
    ("2", "invalid command line"),
    ("3", "not found, or no display"),
    ("4", "more than one session matches"),
    ("5", "refused or cancelled"),
    ("6", "busy or locked"),
    ("7", "chat: the session was still in use; nothing was sent"),
)
_FILES = (
    ("~/.hermes", "the home: settings, history and files, shared with hermes"),
    ("~/.hermes/state.db", "the sessions"),
    ("~/.hermes/config.yaml", "the settings"),
)
_ENVIRONMENT = (("HERMES_HOME", "another home"),)


def manual_pages(release: Release) -> dict[str, str]:
    """Return the text of each page by its file name: one of the program, one of each command."""
    top = _top()
    pages = {f"{PROGRAM}.1": _page(top, release, _main_sections(top))}
    for context in _children(top):
        name = context.command_path.replace(" ", "-")
        pages[f"{name}.1"] = _page(context, release, _command_sections(context))
    return pages


def command_contexts(context: click.Context | None = None) -> Iterator[click.Context]:
    """Yield a context of every command of the program, itself included."""
    context = context or _top()
    yield context
    for child in _children(context):
        yield from command_contexts(child)


def escaped(text: str) -> str:
    """Return text in which roff finds no request and no escape."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("’", "\\(cq")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)


def _page(context: click.Context, release: Release, sections: str) -> str:
    name = context.command_path.replace(" ", "-")
    return (
        f'.TH "{escaped(name.upper())}" 1 "{release.date}" "Hermes Desktop {release.version}"'
        ' "User Commands"\n'
        f".SH NAME\n{escaped(name)} \\- {escaped(_summary(context))}\n"
        f".SH SYNOPSIS\n{_usage(context)}"
        f"{sections}"
        f".SH NOTES\n{escaped(DISCLAIMER)}\n"
    )


def _main_sections(context: click.Context) -> str:
    children = list(_children(context))
    commands = "".join(_term(child.command_path, _summary(child)) for child in children)
    pages = ", ".join(
        f"\\fB{escaped(child.command_path.replace(' ', '-'))}\\fR(1)" for child in children
    )
    return (
        _text_and_options(context, ".SH DESCRIPTION\n", ".SH OPTIONS\n")
        + f".SH COMMANDS\n{commands}"
        + f".SH EXIT STATUS\n{_terms(_EXIT_CODES)}"
        + f".SH ENVIRONMENT\n{_terms(_ENVIRONMENT)}"
        + f".SH FILES\n{_terms(_FILES)}"
        + f".SH SEE ALSO\n{pages}\n"
    )


def _command_sections(context: click.Context) -> str:
    """Return the text of a command, and a section of each command below it."""
    text = _text_and_options(context, ".SH DESCRIPTION\n", ".SH OPTIONS\n")
    below = [each for each in command_contexts(context) if each is not context]
    if below:
        text += ".SH COMMANDS\n"
    for each in below:
        text += f".SS {escaped(each.command_path)}\n{_usage(each)}"
        text += _text_and_options(each, ".PP\n", "")
    return text + f".SH SEE ALSO\n\\fB{escaped(PROGRAM)}\\fR(1)\n"


def _text_and_options(context: click.Context, before_text: str, before_options: str) -> str:
    paragraphs = _help(context).split("\n\n")
    text = before_text + ".PP\n".join(f"{escaped(each)}\n" for each in paragraphs)
    options = "".join(
        _term(*record)
        for param in context.command.get_params(context)
        if (record := param.get_help_record(context)) is not None and record[1]
    )
    return text + (before_options + options if options else "")


def _top() -> click.Context:
    return click.Context(root, info_name=PROGRAM, **root.context_settings)


def _children(context: click.Context) -> list[click.Context]:
    command = context.command
    if not isinstance(command, click.Group):
        return []
    found = ((name, command.get_command(context, name)) for name in command.list_commands(context))
    return [
        click.Context(each, parent=context, info_name=name)
        for name, each in found
        if each is not None and not each.hidden
    ]


def _help(context: click.Context) -> str:
    return inspect.cleandoc(context.command.help or "").partition("\f")[0].strip()


def _summary(context: click.Context) -> str:
    first = " ".join(_help(context).partition("\n\n")[0].split())
    return first.removeprefix("Hermes Desktop: ").removesuffix(".")


def _usage(context: click.Context) -> str:
    pieces = " ".join(context.command.collect_usage_pieces(context))
    return f"\\fB{escaped(context.command_path)}\\fR {escaped(pieces)}\n"


def _term(term: str, text: str) -> str:
    return f".TP\n\\fB{escaped(term)}\\fR\n{escaped(text)}\n"


def _terms(pairs: tuple[tuple[str, str], ...]) -> str:
    return "".join(_term(*pair) for pair in pairs)
