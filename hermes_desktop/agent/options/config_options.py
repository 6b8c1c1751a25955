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
        help="The name of the model that answers, as the provider calls it.",
        section=_SECTION,
        kind="text",
        default="",
        effect=Effect.LIVE,
        places=(Place(("model", "default")), Place(("model", "model")), Place(("model", "name"))),
        shorthand=("model",),
        consequence="Sessions go on with the new model from their next message on.",
    ),
    Option(
        key="model.provider",
        label="Provider",
        help=f"Who answers: {', '.join(KNOWN)}, custom with an address of its own, the name of "
        "an entry of custom_providers, or auto.",
        section=_SECTION,
        kind="text",
        default="",
        effect=Effect.LIVE,
        places=(Place(("model", "provider")), Place(("provider",))),
        variables=("HERMES_INFERENCE_PROVIDER",),
        consequence="The address below it stays as it is: unset it if it belongs to another "
        "provider.",
    ),
    Option(
        key="model.base_url",
        label="Address",
        help="Where the model is asked, if not where the provider usually is.",
        section=_SECTION,
        kind="address",
        default="",
        effect=Effect.LIVE,
        places=(Place(("model", "base_url")), Place(("base_url",))),
        variables=("OPENAI_BASE_URL",),
        consequence="Your sessions are sent there.",
    ),
    Option(
        key="agent.api_max_retries",
        label="Attempts after a failed call",
        help="How often a failed call of the model is made again before you hear of it.",
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
        help="How much a model that can think does so before it answers; empty leaves it to the "
        "model, none asks for an answer at once. Models that do not know this are asked without "
        "it.",
        section=_SECTION,
        kind="choice",
        default="",
        choices={
            "": "as the model likes",
            "none": "not at all",
            "minimal": "hardly",
            "low": "little",
            "medium": "some",
            "high": "much",
            "xhigh": "as much as it can",
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
