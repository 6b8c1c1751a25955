"""Which model does side work, and that no key goes to an address it does not belong to."""

from typing import Any

import pytest

from hermes_desktop.agent.models.auxiliary_models import auxiliary_choice
from hermes_desktop.services.agents.auxiliary_services import AuxiliarySettings

MAIN = {"default": "big", "base_url": "http://127.0.0.1:1/v1", "api_key": "main-key"}


def choice(section: Any, task: str = "compression", **variables: str) -> Any:
    config = {"model": MAIN, "auxiliary": {task: section}}
    return auxiliary_choice(config, variables.get, task)


@pytest.mark.parametrize(
    "section", [None, {}, 3, {"provider": "auto"}, {"provider": "main", "model": ""}]
)
def test_without_a_name_the_answering_model_does_it(section: Any) -> None:
    assert choice(section) is None


def test_another_model_at_the_same_address_keeps_the_key() -> None:
    found = choice({"model": "small"})
    assert (found.model, found.base_url, found.api_key) == ("small", MAIN["base_url"], "main-key")


def test_another_address_does_not_get_the_key() -> None:
    found = choice({"model": "small", "base_url": "http://127.0.0.1:2/v1"})
    assert (found.base_url, found.api_key) == ("http://127.0.0.1:2/v1", None)
    own = choice({"model": "small", "base_url": "http://127.0.0.1:2/v1", "api_key": "${SIDE}"},
                 SIDE="side-key")  # fmt: skip
    assert own.api_key == "side-key"


def test_a_known_provider_gets_its_own_key() -> None:
    found = choice({"provider": "openrouter", "model": "a/b"}, OPENROUTER_API_KEY="or-key")
    assert found.base_url == "https://openrouter.ai/api/v1"
    assert found.api_key == "or-key"


def test_what_cannot_be_used_is_none(caplog: pytest.LogCaptureFixture) -> None:
    assert choice({"provider": "nobody-knows", "model": "x"}) is None
    assert choice({"base_url": "not an address", "model": "x"}) is None
    assert choice({"model": "${UNSET}"}) is None
    assert "auxiliary.compression is not used" in caplog.text


def test_keys_are_told_to_whoever_keeps_them_out_of_logs() -> None:
    section = {"model": "small", "base_url": "http://127.0.0.1:2/v1", "api_key": "side-key"}
    config = {"model": MAIN, "auxiliary": {"title_generation": section}}
    care = AuxiliarySettings.read(config, lambda _: None)
    assert care.keys() == ("side-key",)
    assert "side-key" not in repr(care)
