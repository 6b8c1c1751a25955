"""The model is tried as it is filled in; a server of this machine is found and filled in."""

import pytest

from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.services.agents.model_servers import ModelServers
from hermes_desktop.ui.settings.model_part import ADDRESS, MODEL, PROVIDER, ModelPart
from tests.fakes.local_server import LocalServerDouble
from tests.fakes.model_server import ModelServer
from tests.ui.settings.conftest import SettingsStage


async def part_of(stage: SettingsStage) -> ModelPart:
    stage.view.show_page("assistant")
    return stage.view.findChild(ModelPart)


@pytest.mark.asyncio
async def test_what_is_filled_in_is_tried_before_it_is_saved(home, stage) -> None:
    with ModelServer() as server:
        (home / "config.yaml").write_text("model:\n  default: one\n")
        async with stage:
            part = await part_of(stage)
            stage.view.draft.give(ADDRESS, server.base_url)
            part.try_it.click()
            await stage.until(lambda: part.said.text and part.waiting.isHidden())
            assert part.said.level == "ok"
            assert server.requests
            assert stage.config == "model:\n  default: one\n"
            stage.view.draft.give(ADDRESS, "http://127.0.0.1:9/v1")
            part.try_it.click()
            await stage.until(lambda: part.said.text and part.said.level == "error")


@pytest.mark.asyncio
async def test_a_server_of_this_machine_is_found_and_filled_in_as_one_step(home, stage) -> None:
    entry = {"id": "tiny", "owned_by": "vllm", "max_model_len": 4096}
    with LocalServerDouble({"/v1/models": {"data": [entry]}}) as server:
        async with stage:
            stage.services.models.close()
            stage.services.models = ModelServers(
                stage.services.paths, {}, SecretRedactor(), ports=(("vllm", server.port),)
            )
            part = await part_of(stage)
            part.look.click()
            await stage.until(lambda: part.table.isVisible() or part.said.text)
            assert part.table.current == (f"http://127.0.0.1:{server.port}/v1", "tiny")
            assert part.table.model().index(0, 2).data() == "4,096, small"
            part.use.click()
            edits = stage.view.draft.edits
            assert set(edits) == {MODEL, ADDRESS, PROVIDER}
            assert edits[ADDRESS].value == part.table.current.base_url
            stage.view.undo()
            assert not stage.view.draft.edits


@pytest.mark.asyncio
async def test_nobody_answers_and_waiting_is_given_up(home, stage) -> None:
    async with stage:
        stage.services.models.close()
        stage.services.models = ModelServers(
            stage.services.paths, {}, SecretRedactor(), ports=(("vllm", 9),)
        )
        part = await part_of(stage)
        part.look.click()
        await stage.until(lambda: "No model server was found" in part.said.text)
        part.try_it.click()
        part.waiting.given_up.emit()
        assert part.waiting.isHidden()
        part.try_it.click()
        await stage.until(lambda: part.said.level == "error")
