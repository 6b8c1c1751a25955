"""The model part: tests the model as filled in, finds servers on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtWidgets import QHBoxLayout, QPushButton
from typing_extensions import override

from hermes_desktop.ui.settings.fields.field_row import heading
from hermes_desktop.ui.settings.fields.field_text import plain
from hermes_desktop.ui.settings.fields.parts import SettingsContext, SettingsPart
from hermes_desktop.ui.settings.secrets.lines import MessageLine, WaitLine
from hermes_desktop.ui.widgets.flow_row import FlowRow
from hermes_desktop.ui.widgets.quiet_table import Cell, QuietTable
from hermes_desktop.ui.widgets.section_parts import Block, SecondaryLabel
from hermes_desktop.ui.widgets.theme import SPACE_8

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Coroutine, Sequence
    from typing import Any

    from hermes_desktop.services.agents.model_servers import EndpointAnswer, LocalModel, LocalServer

MODEL, PROVIDER, ADDRESS = "model.default", "model.provider", "model.base_url"
OWN_ADDRESS = "custom"
_KINDS = {"ollama": "Ollama", "lmstudio": "LM Studio", "vllm": "vLLM", "openai": "Model server"}


class Found(NamedTuple):
    """A model of a server on this machine."""

    base_url: str
    model: str


class ModelPart(SettingsPart):
    """Tests the model and finds servers; a choice is filled in below, not saved."""

    def __init__(self, context: SettingsContext) -> None:
        super().__init__(context)
        self._asking: asyncio.Task[None] | None = None
        self.try_it = QPushButton(self.tr("Test model"))
        self.look = QPushButton(self.tr("Find local servers"))
        self.use = QPushButton(self.tr("Use this model"))
        self.said = MessageLine(context.theme)
        self.waiting = WaitLine(context.theme)
        self.table = QuietTable(
            self.tr("Local models"),
            (self.tr("Model"), self.tr("Server"), self.tr("Context")),
            context.theme,
        )
        self._arrange()
        self.try_it.clicked.connect(self._try)
        self.look.clicked.connect(self._find)
        self.use.clicked.connect(lambda: self._use(self.table.current))
        self.table.sort_first_by(0)
        self.table.entered.connect(self._use)
        self.table.chosen.connect(lambda found: self.use.setEnabled(found is not None))
        self.waiting.given_up.connect(self._stop)

    @override
    def end(self) -> None:
        self._stop()

    @override
    def set_locked(self, reason: str) -> None:
        """Disable the choice of a model; testing changes nothing and stays enabled."""
        self.table.setEnabled(not reason)
        self.use.setEnabled(not reason and self.table.current is not None)

    def _try(self) -> None:
        self._ask(self._try_chosen(), self.tr("Testing the model"))

    def _find(self) -> None:
        self._ask(self._look_around(), self.tr("Looking for model servers"))

    def _ask(self, asking: Coroutine[Any, Any, None], doing: str) -> None:
        self._stop()
        self.said.clear()
        self.waiting.begin(doing)
        self._asking = self.context.slots.start(asking, doing=doing)
        self._asking.add_done_callback(self._over)

    def _over(self, done: asyncio.Task[None]) -> None:
        if done is self._asking:
            self._asking = None
            self.waiting.end()

    def _stop(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None
            self.waiting.end()

    async def _try_chosen(self) -> None:
        answer = await self.context.services.models.check_chosen(self._filled_in())
        self.said.say("ok" if answer.kind == "ok" else "error", _answer_words(answer))

    def _filled_in(self) -> dict[str, str]:
        """Return the valid unsaved values, so that they are tested, too."""
        draft = self.context.draft
        names = {"model": MODEL, "provider": PROVIDER, "base_url": ADDRESS}
        given = {
            name: str(draft.value_of(key) or "")
            for name, key in names.items()
            if key in draft.edits and not draft.edits[key].problem
        }
        if given.get("base_url") and not draft.value_of(PROVIDER):
            given["provider"] = OWN_ADDRESS
        return {name: value for name, value in given.items() if value}

    async def _look_around(self) -> None:
        servers = await self.context.services.models.find_local()
        self._show(servers)

    def _show(self, servers: Sequence[LocalServer]) -> None:
        rows = [
            (Found(server.base_url, model.id), _cells(server, model))
            for server in servers
            for model in server.models
        ]
        self.table.show_rows(rows)
        self._list.setVisible(bool(rows))
        troubles = [
            f"{_KINDS.get(server.kind, server.kind)} at {server.base_url}: {plain(server.problem)}"
            for server in servers
            if server.problem
        ]
        if not servers:
            troubles = [
                self.tr("No model server was found on this machine. Start Ollama, LM Studio,")
                + self.tr(" llama.cpp or vLLM, then try again.")
            ]
        self.said.say("info" if rows else "warning", "\n".join(troubles))
        if rows:
            self.table.selectRow(0)
            self.table.setFocus()

    def _use(self, found: Found | None) -> None:
        if found is not None and self.table.isEnabled():
            self.context.draft.set_contents(
                {MODEL: found.model, ADDRESS: found.base_url, PROVIDER: OWN_ADDRESS}
            )
            self.said.say("ok", self.tr("Filled in below. Test it, then save."))

    def _arrange(self) -> None:
        self.column.addWidget(heading(self.tr("Test the model")))
        block = Block(self.context.theme)
        block.column.addWidget(
            SecondaryLabel(
                self.context.theme,
                self.tr(
                    "“Test model” sends one short question to the model below, saved or not; "
                    "this costs a few tokens. “Find local servers” only searches this "
                    "computer."
                ),
            )
        )
        row = FlowRow()
        for button in (self.try_it, self.look):
            button.setAutoDefault(False)
            row.add(button)
        block.column.addWidget(row)
        self._list = Block(self.context.theme)
        self._list.column.setContentsMargins(SPACE_8, SPACE_8, SPACE_8, SPACE_8)
        self._list.column.addWidget(self.table)
        choose = QHBoxLayout()
        self.use.setAutoDefault(False)
        choose.addWidget(self.use)
        choose.addStretch(1)
        self._list.column.addLayout(choose)
        self._list.hide()
        for widget in (self._list, self.waiting, self.said):
            block.column.addWidget(widget)
        self.column.addWidget(block)


def _answer_words(answer: EndpointAnswer) -> str:
    words = [plain(answer.words)]
    if answer.kind == "ok" and answer.context_length:
        words.append(f"Its context window has {answer.context_length:,} tokens.")
    if answer.hint:
        words.append(plain(answer.hint))
    return " ".join(words)


def _cells(server: LocalServer, model: LocalModel) -> tuple[Cell, ...]:
    length = model.context_length or model.could_be or 0
    words = f"{length:,}" if model.context_length else f"up to {length:,}"
    words = words if length else "unknown"
    if model.too_small:
        words += ", small"
    small = "64,000 tokens or more are recommended." if model.too_small else ""
    kind = _KINDS.get(server.kind, server.kind)
    return Cell(model.id), Cell(kind, more=server.base_url), Cell(words, length, small)
