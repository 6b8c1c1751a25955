"""A secret, declared once: by the variable that names it, with the other places where it may be."""

from dataclasses import dataclass

from hermes_desktop.settings.options import Effect, Place


@dataclass(frozen=True, slots=True)
class SecretOption:
    """One secret.

    Attributes:
        variable: Its name in the environment, the keyring and ``.env``.
        platform: The platform it belongs to; "" for one of the model.
        places: Where config.yaml may hold it; none of them is ever written.
        effect: When a changed value counts.
    """

    variable: str
    label: str
    section: str
    platform: str = ""
    places: tuple[Place, ...] = ()
    effect: Effect = Effect.RECONNECT
