"""Display names and icons of session sources."""

from collections.abc import Mapping
from types import MappingProxyType

_NAMES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "cli": ("Terminal", "source-cli"),
        "tui": ("Terminal (full screen)", "source-cli"),
        "desktop": ("Desktop", "source-desktop"),
        "local": ("This computer", "source-desktop"),
        "telegram": ("Telegram", "source-telegram"),
        "discord": ("Discord", "source-discord"),
        "slack": ("Slack", "source-slack"),
        "mattermost": ("Mattermost", "source-slack"),
        "matrix": ("Matrix", "source-matrix"),
        "email": ("E-mail", "source-email"),
        "whatsapp": ("WhatsApp", "source-phone"),
        "signal": ("Signal", "source-phone"),
        "sms": ("SMS", "source-phone"),
        "cron": ("Scheduled job", "source-cron"),
        "api": ("API", "source-api"),
        "api_server": ("API server", "source-api"),
        "acp": ("Editor", "source-api"),
        "webhook": ("Webhook", "source-webhook"),
        "webui": ("Web page", "source-web"),
        "web": ("Web", "source-web"),
        "tool": ("Tool", "source-tool"),
        "homeassistant": ("Home Assistant", "source-generic"),
        "dingtalk": ("DingTalk", "source-generic"),
        "feishu": ("Feishu", "source-generic"),
        "wecom": ("WeCom", "source-generic"),
        "import": ("Imported", "source-generic"),
    }
)


def source_name(source: str) -> str:
    """Return the display name of a source; an unknown one is its stored name, made readable."""
    known = _NAMES.get(source)
    if known is not None:
        return known[0]
    return source.replace("_", " ").strip().capitalize() or "Unknown"


def source_icon(source: str) -> str:
    """Return the name of the icon for a source."""
    known = _NAMES.get(source)
    return known[1] if known is not None else "source-generic"
