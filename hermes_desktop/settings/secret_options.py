"""The declaration of a secret: the variable that names it, and its other possible places."""

from dataclasses import dataclass

from hermes_desktop.settings.options import Effect, Place


@dataclass(frozen=True, slots=True)
class SecretOption:
    """One secret.

    Attributes:
        variable: Its name in the environment, the keyring and ``.env``.
        platform: The platform it belongs to; "" for one of the model.
        places: Where config.yaml may hold it; none of them is ever written.
        effect: When a changed value takes effect.
    """

    variable: str
    label: str
    section: str
    platform: str = ""
    places: tuple[Place, ...] = ()
    effect: Effect = Effect.RECONNECT
