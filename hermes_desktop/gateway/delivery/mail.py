"""Assembly of inbox and outbox, which preserve messages and replies across crashes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hermes_desktop.core.clock import Clock, SystemClock
from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.events import Notice
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.gateway.delivery.dead_targets import DeadTargets
from hermes_desktop.gateway.delivery.delivery import Deliverer
from hermes_desktop.gateway.delivery.delivery_ledger import DeliveryLedger
from hermes_desktop.gateway.delivery.inbound_dedup import Inbox
from hermes_desktop.gateway.delivery.sending import AdapterOf, SendingManners
from hermes_desktop.state import SessionDB
from hermes_desktop.state.shared_tables.delivery_store import DeliveryStore, Owner
from hermes_desktop.state.shared_tables.desktop_database import DesktopDatabase


@dataclass(frozen=True, slots=True)
class DeliveryParts:
    """Inbox and outbox of a gateway."""

    inbox: Inbox
    deliverer: Deliverer


@dataclass(frozen=True, slots=True)
class DeliveryDependencies:
    """The dependencies of a hosted gateway's inbox and outbox.

    Attributes:
        own: Our own store of the home.
        owner: Returns the process that holds the home's identity now.
        workers: Worker threads for file access.
        keeps_outbox: False where ``gateway.delivery_ledger`` is switched off.
    """

    home: Path
    db: SessionDB
    own: DesktopDatabase
    owner: Callable[[], Owner]
    workers: WorkerThreads
    redactor: SecretRedactor | None = None
    notify: Callable[[Notice], None] = lambda _: None
    clock: Clock = field(default_factory=SystemClock)
    manners: SendingManners | None = None
    keeps_outbox: bool = True


def open_mail(
    parts: DeliveryDependencies,
    adapter_of: AdapterOf,
    redelivered: Callable[[str], None] = lambda _: None,
) -> DeliveryParts:
    """Assemble inbox and outbox. Opens nothing yet.

    Args:
        parts: Their dependencies.
        adapter_of: Returns the current adapter of a platform.
        redelivered: Called with the session key of each reply that was redelivered.
    """
    store = DeliveryStore(parts.db, parts.own, parts.owner, clock=parts.clock)
    ledger = DeliveryLedger(store, parts.workers, clock=parts.clock)
    return DeliveryParts(
        Inbox(store, parts.workers, clock=parts.clock),
        Deliverer(
            adapter_of,
            parts.workers,
            ledger=ledger if parts.keeps_outbox else None,
            dead=DeadTargets(parts.home, parts.clock),
            redactor=parts.redactor,
            notify=parts.notify,
            redelivered=redelivered,
            manners=parts.manners,
        ),
    )
