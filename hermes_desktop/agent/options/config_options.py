"""The agent's settings for the user; their values are held by the agent's dataclasses."""

from hermes_desktop.agent.known_endpoints import KNOWN, provider_title
from hermes_desktop.agent.models.config import AgentConfig
from hermes_desktop.agent.options.compression_options import COMPRESSION_OPTIONS
from hermes_desktop.agent.options.memory_options import MEMORY_OPTIONS
from hermes_desktop.settings.options import Effect, Option, Place
from hermes_desktop.settings.secret_options import SecretOption

_SECTION = "Model"

AGENT_OPTIONS: tuple[Option, ...] = (
    Option(
        key="model.default",
        label="Model",
        help="The model that answers, by the name the provider uses.",
        section=_SECTION,
        kind="text",
        default="",
        effect=Effect.LIVE,
        places=(Place(("model", "default")), Place(("model", "model")), Place(("model", "name"))),
        shorthand=("model",),
        consequence="Sessions use the new model from the next message on.",
    ),
    Option(
        key="model.provider",
        label="Provider",
        help=f"The provider that answers: {', '.join(KNOWN)}, custom with its own address, "
        "the name of an entry in custom_providers, or auto.",
        section=_SECTION,
        kind="text",
        default="",
        effect=Effect.LIVE,
        places=(Place(("model", "provider")), Place(("provider",))),
        variables=("HERMES_INFERENCE_PROVIDER",),
        consequence="The address below does not change. Clear it if it belongs to another "
        "provider.",
    ),
    Option(
        key="model.base_url",
        label="Address",
        help="The server address, if it is not the provider's usual one.",
        section=_SECTION,
        kind="address",
        default="",
        effect=Effect.LIVE,
        places=(Place(("model", "base_url")), Place(("base_url",))),
        variables=("OPENAI_BASE_URL",),
        consequence="Your messages are sent to this address.",
    ),
    Option(
        key="agent.api_max_retries",
        label="Retries",
        help="How often a failed model call is retried before you see the error.",
        section=_SECTION,
        kind="whole_number",
        default=AgentConfig().api_max_retries,
        low=0,
        high=20,
        effect=Effect.LIVE,
    ),
    Option(
        key="agent.reasoning_effort",
        label="Thinking",
        help="How much a reasoning model thinks before it answers. Leave it empty for the "
        "default of the model; none asks for an immediate answer. Models that do not "
        "support this ignore it.",
        section=_SECTION,
        kind="choice",
        default="",
        choices={
            "": "default of the model",
            "none": "not at all",
            "minimal": "minimal",
            "low": "low",
            "medium": "medium",
            "high": "high",
            "xhigh": "maximum",
        },
        effect=Effect.LIVE,
        consequence="More thinking takes longer and costs more.",
    ),
    *COMPRESSION_OPTIONS,
    *MEMORY_OPTIONS,
)

AGENT_SECRETS: tuple[SecretOption, ...] = tuple(
    SecretOption(
        variable=variable,
        label=f"Key for {provider_title(known.name)}",
        section=_SECTION,
        effect=Effect.LIVE,
    )
    for known in KNOWN.values()
    for variable in known.key_variables
)
