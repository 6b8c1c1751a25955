"""The secrets that settings can name: those of the model providers and of the platforms."""

from collections.abc import Mapping

from hermes_desktop.agent.options.config_options import AGENT_SECRETS
from hermes_desktop.gateway.config.config_options import GATEWAY_SECRETS
from hermes_desktop.settings.options import SecretOption

SECRETS: Mapping[str, SecretOption] = {
    secret.variable: secret for secret in (*AGENT_SECRETS, *GATEWAY_SECRETS)
}
