"""Settings and pages named in the words of an error."""

import pytest

from hermes_desktop.ui.words.setting_names import setting_in, setting_target_in


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("Check the network, and the address (model.base_url).", ("", "model.base_url")),
        ("Give a key in Settings, Assistant.", ("assistant", "")),
        ("Settings, Models: see agent.api_max_retries.", ("models", "agent.api_max_retries")),
        ("OPENROUTER_API_KEY is refused.", ("", "OPENROUTER_API_KEY")),
        ("Look into config.yaml and state.db.", ("", "")),
        ("Try again.", ("", "")),
        ("Add credit there, or choose another model.", ("assistant", "model.default")),
        ("Rephrase it, or use another model.", ("assistant", "model.default")),
    ],
)
def test_place(words: str, place: tuple[str, str]) -> None:
    assert setting_target_in(words) == place


def test_a_file_is_no_setting() -> None:
    assert setting_in("config.yaml names none under model.default") == "model.default"
