"""Parser of the redirections of shell text, here-documents included."""

from hermes_desktop.agent.tools.danger.shell_words import (
    ENDS_WORD,
    ShellParseError,
    Simple,
    Word,
    WordReader,
)


class RedirectReader(WordReader):
    """A parser of redirections; base of the command reader."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._bodies: list[tuple[Simple, str, bool, bool]] = []

    def _begins_redirect(self, here: str) -> bool:
        is_both = here == "&" and self.text.startswith("&>", self.at)
        return here in "<>" or is_both or (here.isdigit() and self._is_descriptor())

    def _is_descriptor(self) -> bool:
        end = self.at
        while end < len(self.text) and self.text[end].isdigit():
            end += 1
        before = self.text[self.at - 1] if self.at else " "
        return before in ENDS_WORD and self.text[end : end + 1] in {"<", ">"}

    def _redirect(self, command: Simple) -> None:
        start = self.at
        while self._peek().isdigit():
            self.at += 1
        while self._peek() and self._peek() in "<>&|":
            self.at += 1
            if self.text[self.at - 1] in "<>" and self._peek() == "(":
                self._process_substitution(command)
                return
        operator = self.text[start : self.at].lstrip("0123456789")
        if operator in {"<<", "<<-"}:
            self._here_document(command)
            return
        self._skip_blanks()
        target = self._word()
        command.redirects.append((operator, target))
        if operator == "<<<":
            command.given.append(target.text)

    def _process_substitution(self, command: Simple) -> None:
        self.at += 1
        self.commands(until=")")
        self.at += 1
        command.words.append(Word("/dev/fd/63", opaque=True))

    def _here_document(self, command: Simple) -> None:
        strips = self._peek() == "-"
        if strips:
            self.at += 1
        self._skip_blanks()
        start = self.at
        word = self._word()
        if not word.text:
            raise ShellParseError("its here-document has no end")
        raw = self.text[start : self.at]
        self._bodies.append((command, word.text, raw != word.text, strips))

    def _read_bodies(self) -> None:
        """Read the bodies of here-documents, and the commands substituted in them."""
        bodies, self._bodies = self._bodies, []
        for command, end, is_quoted, strips in bodies:
            lines: list[str] = []
            while True:
                if self.at >= len(self.text):
                    raise ShellParseError("its here-document has no end")
                line, _, _ = self.text[self.at :].partition("\n")
                self.at = min(len(self.text), self.at + len(line) + 1)
                line = line.lstrip("\t") if strips else line
                if line == end:
                    break
                lines.append(line)
            body = "\n".join(lines)
            command.given.append(body)
            if not is_quoted and ("$(" in body or "`" in body):
                self.commands_in(body, quoted=True)
