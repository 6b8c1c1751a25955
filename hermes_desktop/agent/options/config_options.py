"""The agent's settings for the user; those of its records are declared at their fields."""

from hermes_desktop.agent.compression.compression_settings import CompressionSettings
from hermes_desktop.agent.known_endpoints import KNOWN, provider_title
from hermes_desktop.agent.models.config import AgentConfig
from hermes_desktop.agent.session_titles import TitleSettings
from hermes_desktop.settings.options import Effect, Option, Place, SecretOption, settings_of

WRITE_APPROVAL = "memory.write_approval"
_SECTION = "Model"

AGENT_OPTIONS: tuple[Option, ...] = (
    Option(
        key="model.default",
        title="Model",
        help="The model that answers, by the name the provider uses.",
        section=_SECTION,
        kind="text",
        default="",
        places=(Place(("model", "default")), Place(("model", "model")), Place(("model", "name"))),
        shorthand=("model",),
        consequence="Sessions use the new model from the next message on.",
    ),
    Option(
        key="model.provider",
        title="Provider",
        help=f"The provider that answers. Enter {', '.join(KNOWN)}, custom with its own address, "
        "the name of an entry in custom_providers, or auto.",
        section=_SECTION,
        kind="text",
        default="",
        places=(Place(("model", "provider")), Place(("provider",))),
        variables=("HERMES_INFERENCE_PROVIDER",),
        consequence="The address below does not change. Clear it if it belongs to another "
        "provider.",
    ),
    Option(
        key="model.base_url",
        title="Address",
        help="The server address, if it is not the provider's usual one.",
        section=_SECTION,
        kind="address",
        default="",
        places=(Place(("model", "base_url")), Place(("base_url",))),
        variables=("OPENAI_BASE_URL",),
        consequence="Your messages are sent to this address.",
    ),
    *settings_of(AgentConfig).values(),
    Option(
        key="agent.reasoning_effort",
        title="Thinking",
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
        consequence="More thinking takes longer and costs more.",
    ),
    Option(
        key="model.context_length",
        title="Context window",
        help="The context window of the model in tokens. Needed only if neither the server "
        "nor the model name tells.",
        section="Long sessions",
        kind="whole_number",
        default=None,
        minimum=1_024,
        may_be_none=True,
    ),
    *settings_of(CompressionSettings).values(),
    *settings_of(TitleSettings).values(),
    Option(
        key=WRITE_APPROVAL,
        title="Ask before saving memories",
        help="New memories wait for your approval; /memory pending lists them.",
        section="Memory",
        kind="yes_no",
        default=False,
        consequence="Applies to new memories only.",
    ),
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
