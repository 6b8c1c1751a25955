from typing import Any

import pytest

from hermes_desktop.agent.models.config import (
    AgentConfig,
    resolve_fallbacks,
    resolve_model,
    with_chosen_model,
)
from hermes_desktop.agent.types import ModelChoice
from hermes_desktop.core.errors import ConfigError, NotConfiguredError

LOCAL = "http://127.0.0.1:8080/v1"


def resolve(config: dict[str, Any], **env: str) -> ModelChoice:
    return resolve_model(config, env.get)


def parts(choice: ModelChoice) -> tuple[str, str, str | None, str]:
    return choice.model, choice.base_url, choice.api_key, choice.provider


@pytest.mark.parametrize("name", ["default", "model", "name"])
@pytest.mark.parametrize("key", ["api_key", "api"])
def test_a_mapping(name: str, key: str) -> None:
    config = {"model": {name: "m", "base_url": f"{LOCAL}/", key: "${K}", "max_tokens": 9}}
    choice = resolve(config, K="secret")
    assert parts(choice) == ("m", LOCAL, "secret", "custom")
    assert choice.max_tokens == 9
    assert "secret" not in repr(choice)
    assert "secret" not in str(choice)


def test_a_string_and_settings_beside_it() -> None:
    assert parts(resolve({"model": "m", "base_url": LOCAL})) == ("m", LOCAL, None, "custom")
    openrouter = resolve({"model": "a/b", "provider": "openrouter"}, OPENROUTER_API_KEY="k")
    assert parts(openrouter) == ("a/b", "https://openrouter.ai/api/v1", "k", "openrouter")


def test_what_the_address_may_look_like() -> None:
    def address(url: str) -> str:
        return resolve({"model": {"default": "m", "base_url": url}}).base_url

    assert address(f"{LOCAL}/chat/completions") == LOCAL
    assert address("http://[::1]:80/v1") == "http://[::1]:80/v1"
    for bad in (
        "localhost:8080",
        "ftp://x/v1",
        "http://",
        "http://x:y/",
        "http://a b/",
        "http://[x",
    ):
        with pytest.raises(ConfigError, match="http"):
            address(bad)
        with pytest.raises(ConfigError, match="http"):
            resolve({"model": {"default": "m", "provider": "openai", "base_url": bad}})
    with pytest.raises(ConfigError) as caught:
        address("https://me:secret@host/v1")
    assert "secret" not in str(caught.value)
    with pytest.raises(ConfigError):
        address("http://host/v1?key=1")


def test_numbers_that_make_no_sense_are_passed_over() -> None:
    section = {"default": "m", "base_url": LOCAL, "context_length": "32768", "max_tokens": True}
    choice = resolve({"model": section})
    assert choice.context_length == 32768
    assert choice.max_tokens is None


# ------------------------------------------------------------------------------ from the variables


def test_address_from_the_environment() -> None:
    choice = resolve({"model": "m"}, OPENAI_BASE_URL=LOCAL, OPENAI_API_KEY="k")
    assert parts(choice) == ("m", LOCAL, "k", "custom")


def test_whose_key_is_there_answers() -> None:
    both = resolve({"model": "a/b"}, OPENROUTER_API_KEY="r", OPENAI_API_KEY="o")
    assert parts(both) == ("a/b", "https://openrouter.ai/api/v1", "r", "openrouter")
    one = resolve({"model": "gpt"}, OPENAI_API_KEY="o")
    assert parts(one) == ("gpt", "https://api.openai.com/v1", "o", "openai")


def test_provider_from_the_environment() -> None:
    choice = resolve({"model": "m"}, HERMES_INFERENCE_PROVIDER="groq", GROQ_API_KEY="g")
    assert parts(choice)[1:] == ("https://api.groq.com/openai/v1", "g", "groq")
    assert resolve({"model": {"default": "m", "provider": "ollama"}}).api_key is None


def test_a_provider_moved_by_its_variable() -> None:
    choice = resolve(
        {"model": {"default": "m", "provider": "openrouter"}},
        OPENROUTER_BASE_URL="https://mirror.example/v1",
        OPENROUTER_API_KEY="r",
    )
    assert parts(choice)[1:3] == ("https://mirror.example/v1", "r")


# -------------------------------------------------------------------- a key stays with its address


@pytest.mark.parametrize(
    "config",
    [
        {"model": {"default": "m", "base_url": LOCAL}},
        {"model": {"default": "m", "base_url": "https://openrouter.ai/api/v1"}},
        {"model": {"default": "m", "base_url": "https://api.openai.com.evil.example/v1"}},
        {"model": {"default": "m", "base_url": "http://api.openai.com/v1"}},
        {"model": {"default": "m", "base_url": "https://api.openai.com:8443/v1"}},
        {"model": {"default": "m", "provider": "openai", "base_url": "https://other.example/v1"}},
        {
            "model": {"default": "m", "provider": "mine"},
            "custom_providers": [{"name": "mine", "base_url": "https://other.example/v1"}],
        },
    ],
)
def test_the_key_of_openai_goes_nowhere_else(config: dict[str, Any]) -> None:
    assert resolve(config, OPENAI_API_KEY="o").api_key is None


def test_no_key_for_a_router() -> None:
    with pytest.raises(NotConfiguredError, match="OPENROUTER_API_KEY"):
        resolve({"model": {"default": "m", "provider": "openrouter"}}, OPENAI_API_KEY="o")
    with pytest.raises(NotConfiguredError):
        resolve({"model": "vendor/model"}, OPENAI_API_KEY="o")


def test_a_key_found_by_the_host() -> None:
    config = {"model": {"default": "m", "base_url": "https://api.openai.com/v1"}}
    assert resolve(config, OPENAI_API_KEY="o").api_key == "o"
    assert resolve(config, OPENAI_API_KEY="o").provider == "openai"


def test_the_key_of_an_entry_stays_at_its_address() -> None:
    config = {
        "model": {"default": "m", "provider": "mine", "base_url": "https://other.example/v1"},
        "custom_providers": [{"name": "mine", "base_url": LOCAL, "api_key": "k"}],
    }
    assert resolve(config).base_url == "https://other.example/v1"
    assert resolve(config).api_key is None


# ---------------------------------------------------------------------------------- named entries


def test_custom_providers() -> None:
    config = {
        "model": {"provider": "custom:My Box"},
        "custom_providers": [
            "nonsense",
            {"name": "other", "base_url": "http://x/v1"},
            {
                "name": "my box",
                "base_url": LOCAL,
                "key_env": "BOX_KEY",
                "api_key": "inline",
                "models": {"m1": {"context_length": 5}, "m2": {}},
            },
        ],
    }
    assert parts(resolve(config, BOX_KEY="from-env")) == ("m1", LOCAL, "from-env", "my-box")
    assert resolve(config).api_key == "inline"
    assert "custom_providers[2]" in resolve(config).origin


def test_providers_by_name() -> None:
    entry = {"base_url": LOCAL, "api_key": "${K}", "default_model": "m"}
    assert parts(resolve({"model": {"provider": "box"}, "providers": {"box": entry}}, K="k")) == (
        "m",
        LOCAL,
        "k",
        "box",
    )
    with pytest.raises(NotConfiguredError, match="turned off"):
        resolve({"model": {"provider": "box"}, "providers": {"box": {**entry, "enabled": False}}})


def test_an_entry_with_time_outs_only_leaves_a_known_provider_as_it_is() -> None:
    config = {"model": {"default": "m", "provider": "ollama"}, "providers": {"ollama": {"t": 1}}}
    assert resolve(config).base_url == "http://127.0.0.1:11434/v1"


def test_what_an_entry_says_of_its_model() -> None:
    entry = {
        "name": "box",
        "base_url": LOCAL,
        "context_length": 1000,
        "max_output_tokens": 50,
        "ca_bundle": "/etc/box.pem",
        "models": {"Big": {"context_length": 65536, "max_output_tokens": 900}, "small": {}},
    }
    config: dict[str, Any] = {
        "model": {"default": "big", "provider": "box"},
        "custom_providers": [entry],
    }
    big = resolve(config)
    assert (big.context_length, big.max_tokens, big.ca_bundle) == (65536, 900, "/etc/box.pem")
    small = resolve({**config, "model": {"default": "small", "provider": "box"}})
    assert (small.context_length, small.max_tokens) == (1000, 50)
    listed = [{"id": "a", "context_length": 7000}, "b"]
    entry |= {"models": listed}
    assert resolve({**config, "model": {"provider": "box"}}).model == "a"
    assert resolve({**config, "model": {"default": "a", "provider": "box"}}).context_length == 7000
    assert (
        resolve({**config, "model": {"default": "a", "provider": "box", "context_length": 9}})
    ).context_length == 9


def test_how_patient_to_be() -> None:
    config = {
        "model": {"default": "slow", "provider": "groq"},
        "providers": {
            "groq": {
                "request_timeout_seconds": 20,
                "stale_timeout_seconds": 9.5,
                "models": {"slow": {"timeout_seconds": 600}},
            }
        },
    }
    choice = resolve(config, GROQ_API_KEY="g")
    assert (choice.request_timeout_s, choice.stale_timeout_s) == (600.0, 9.5)
    for nonsense in (True, "20", -1, 0, 10**9):
        config["providers"]["groq"] = {"request_timeout_seconds": nonsense}
        assert resolve(config, GROQ_API_KEY="g").request_timeout_s is None


@pytest.mark.parametrize(
    ("name", "variable", "host"),
    [
        ("anthropic", "ANTHROPIC_API_KEY", "api.anthropic.com"),
        ("gemini", "GOOGLE_API_KEY", "generativelanguage.googleapis.com"),
        ("google", "GEMINI_API_KEY", "generativelanguage.googleapis.com"),
        ("glm", "ZAI_API_KEY", "api.z.ai"),
        ("Together", "TOGETHER_API_KEY", "api.together.xyz"),
        ("llamacpp", "", "127.0.0.1:8080"),
        ("vllm", "", "127.0.0.1:8000"),
    ],
)
def test_known_providers(name: str, variable: str, host: str) -> None:
    variables = {variable: "k"} if variable else {}
    choice = resolve({"model": {"default": "m", "provider": name}}, **variables)
    assert choice.base_url.split("/")[2] == host
    assert choice.api_key == ("k" if variable else None)


def test_a_known_host_without_its_path() -> None:
    config = {"model": {"default": "m", "base_url": "https://api.anthropic.com"}}
    choice = resolve(config, ANTHROPIC_API_KEY="a")
    assert parts(choice) == ("m", "https://api.anthropic.com/v1", "a", "anthropic")


def test_the_only_key_there_is_and_one_of_several() -> None:
    assert resolve({"model": "m"}, MISTRAL_API_KEY="k").provider == "mistral"
    with pytest.raises(NotConfiguredError, match="mistral, groq"):
        resolve({"model": "m"}, MISTRAL_API_KEY="k", GROQ_API_KEY="g")
    several = {"MISTRAL_API_KEY": "k", "OPENROUTER_API_KEY": "r"}
    assert resolve({"model": "m"}, **several).provider == "openrouter"
    assert resolve({"model": {"default": "m", "provider": "auto"}}, **several).api_key == "r"


def test_another_address_of_the_environment_gets_no_key_of_openai() -> None:
    choice = resolve({"model": "m"}, CUSTOM_BASE_URL=LOCAL, OPENAI_API_KEY="o")
    assert parts(choice) == ("m", LOCAL, None, "custom")


def test_a_variable_with_the_key_beside_the_model() -> None:
    section = {"default": "m", "base_url": LOCAL, "key_env": "MINE"}
    assert resolve({"model": section}, MINE="k").api_key == "k"


def test_thinking() -> None:
    config = {"model": {"default": "m", "base_url": LOCAL}, "agent": {"reasoning_effort": "high"}}
    assert resolve(config).reasoning_effort == "high"
    for off in ("none", False):
        config["agent"] = {"reasoning_effort": off}
        assert resolve(config).reasoning_effort == "none"
    for nothing in ("", "very", 3, None):
        config["agent"] = {"reasoning_effort": nothing}
        assert resolve(config).reasoning_effort == ""


# --------------------------------------------------------------------------------- who stands by


def test_who_stands_by() -> None:
    config = {
        "model": {"default": "m", "base_url": LOCAL, "api_key": "own", "ca_bundle": "/own.pem"},
        "custom_providers": [{"name": "box", "base_url": "http://box/v1", "api_key": "b"}],
        "fallback_providers": [
            {"provider": "groq", "model": "llama"},
            {"provider": "mistral", "model": "no-key"},
            {"provider": "box", "model": "mine"},
            {"model": "other", "base_url": "http://other/v1", "key_env": "OTHER"},
            {"provider": "groq"},
            "nonsense",
        ],
        "fallback_model": {"provider": "openrouter", "model": "a/b", "api_key": "${ROUTER}"},
    }
    found = resolve_fallbacks(config, {"GROQ_API_KEY": "g", "OTHER": "o", "ROUTER": "r"}.get)
    assert [parts(each) for each in found] == [
        ("llama", "https://api.groq.com/openai/v1", "g", "groq"),
        ("mine", "http://box/v1", "b", "box"),
        ("other", "http://other/v1", "o", "custom"),
        ("a/b", "https://openrouter.ai/api/v1", "r", "openrouter"),
    ]
    assert not any(each.ca_bundle for each in found)
    assert resolve_fallbacks({"model": "m"}, {}.get) == ()
    assert resolve_fallbacks({"fallback_providers": "x", "fallback_model": 3}, {}.get) == ()


# ------------------------------------------------------------------------------------ what to set


@pytest.mark.parametrize(
    "config", [{}, {"model": None}, {"model": ""}, {"model": {}}, {"model": {"default": "  "}}]
)
def test_nothing_is_set(config: dict[str, Any]) -> None:
    with pytest.raises(NotConfiguredError) as caught:
        resolve(config)
    assert caught.value.title == "No model is set."
    for word in ("config.yaml", "model.default", "base_url", "OPENROUTER_API_KEY"):
        assert word in caught.value.hint


@pytest.mark.parametrize(
    ("config", "word"),
    [
        ({"model": {"base_url": LOCAL}}, "model.default"),
        ({"model": "m"}, "base_url"),
        ({"model": {"default": "m", "provider": "nonsense"}}, "custom_providers"),
        ({"model": {"default": "m", "provider": "custom"}}, "base_url"),
        ({"model": {"default": "m", "provider": "openai-codex"}}, "chat completions"),
        ({"model": {"default": "m", "provider": "nous"}}, "--provider"),
        ({"model": {"default": "m", "provider": "anthropic"}}, "ANTHROPIC_API_KEY"),
        (
            {
                "model": {"default": "m", "provider": "anthropic", "api_key": "k"}
                | {"api_mode": "anthropic_messages"}
            },
            "Remove api_mode",
        ),
        (
            {
                "model": {"default": "m", "provider": "x"},
                "custom_providers": [{"name": "x", "base_url": LOCAL, "key_env": "X_KEY"}],
            },
            "X_KEY",
        ),
        (
            {"model": {"default": "m", "base_url": LOCAL, "api_mode": "anthropic_messages"}},
            "anthropic_messages",
        ),
        (
            {
                "model": {"default": "m", "provider": "x"},
                "custom_providers": [
                    {"name": "x", "base_url": LOCAL, "api_mode": "codex_responses"}
                ],
            },
            "codex_responses",
        ),
    ],
)
def test_what_is_missing_is_named(config: dict[str, Any], word: str) -> None:
    with pytest.raises(NotConfiguredError) as caught:
        resolve(config)
    assert word in str(caught.value)
    assert caught.value.hint


def test_settings_of_the_wrong_kind() -> None:
    with pytest.raises(ConfigError):
        resolve({"model": ["m"]})
    with pytest.raises(ConfigError):
        resolve({"model": 5})
    with pytest.raises(ConfigError, match="NOT_SET"):
        resolve({"model": {"default": "m", "base_url": LOCAL, "api_key": "${NOT_SET}"}})
    assert resolve({"model": {"default": "m", "base_url": LOCAL, "other": "${NOT_SET}"}})


def test_the_agent_s_own_settings() -> None:
    assert AgentConfig.from_mapping({}).api_max_retries == 3
    config = AgentConfig.from_mapping({"agent": {"api_max_retries": 0}})
    assert config.retries().count == 0
    for bad in (-1, True, "3", 2.5, 10**9):
        with pytest.raises(ConfigError, match="api_max_retries"):
            AgentConfig.from_mapping({"agent": {"api_max_retries": bad}})


@pytest.mark.parametrize(
    ("given", "turns"),
    [("7", 7), (" 1000 ", 1000), ("0", 90), ("1001", 90), ("9" * 5000, 90), ("many", 90), ("", 90)],
)
def test_the_variable_of_the_turns_counts_where_the_file_says_nothing(
    given: str, turns: int
) -> None:
    lookup = {"HERMES_MAX_ITERATIONS": given}.get
    assert AgentConfig.from_mapping({}, lookup).max_turns == turns
    assert AgentConfig.from_mapping({"agent": {"max_turns": 5}}, lookup).max_turns == 5


def chosen(config: dict[str, Any], choice: dict[str, str], **env: str) -> ModelChoice:
    return resolve_model(with_chosen_model(config, choice), env.get)


def test_a_model_chosen_for_one_conversation() -> None:
    config = {"model": {"name": "m", "base_url": LOCAL, "api_key": "k", "context_length": 5}}
    other = chosen(config, {"model": "big"})
    assert parts(other) == ("big", LOCAL, "k", "custom")
    assert other.context_length is None
    assert parts(chosen(config, {"model": ""})) == ("m", LOCAL, "k", "custom")
    text = chosen({"model": "m", "base_url": LOCAL}, {"model": "big"})
    assert parts(text) == ("big", LOCAL, None, "custom")
    assert config["model"]["name"] == "m"


def test_a_provider_before_the_name_of_a_model() -> None:
    config = {"model": {"default": "m", "base_url": LOCAL}}
    router = chosen(config, {"model": "openrouter:a/b:free"}, OPENROUTER_API_KEY="r")
    assert parts(router)[:2] == ("a/b:free", "https://openrouter.ai/api/v1")
    assert parts(chosen(config, {"model": "qwen3:8b"}))[:2] == ("qwen3:8b", LOCAL)


def test_address_and_key_do_not_go_along_to_another_provider() -> None:
    config = {"model": {"default": "m", "base_url": LOCAL, "api_key": "k"}, "base_url": LOCAL}
    other = chosen(config, {"model": "a/b", "provider": "openrouter"}, OPENROUTER_API_KEY="router")
    assert parts(other) == ("a/b", "https://openrouter.ai/api/v1", "router", "openrouter")
    elsewhere = chosen(config, {"model": "x", "base_url": "http://elsewhere.invalid/v1"})
    assert parts(elsewhere) == ("x", "http://elsewhere.invalid/v1", None, "custom")
    with pytest.raises(NotConfiguredError, match="is unknown"):
        chosen(config, {"model": "x", "provider": "nobody"})


@pytest.mark.parametrize("name", ["ssl_verify", "verify_ssl", "tls_verify"])
@pytest.mark.parametrize("value", [False, "false", "No"])
def test_a_wish_that_is_not_heeded_is_known(name: str, value: object) -> None:
    model = {"default": "m", "base_url": LOCAL, name: value}
    assert resolve({"model": model}).wants_no_check
    entry = {"name": "own", "base_url": LOCAL, name: value}
    config = {"model": {"default": "m", "provider": "own"}, "custom_providers": [entry]}
    assert resolve(config).wants_no_check
    assert not resolve({"model": {**model, name: True}}).wants_no_check
    assert not resolve(with_chosen_model({"model": model}, {"base_url": LOCAL})).wants_no_check


def test_a_variable_stands_over_a_key_beside_the_address() -> None:
    entry = {"name": "own", "base_url": LOCAL, "key_env": "K", "api_key": "beside"}
    config = {"model": {"default": "m", "provider": "own"}, "custom_providers": [entry]}
    assert resolve(config, K="of the variable").api_key == "of the variable"
    assert resolve(config).api_key == "beside"
