"""The destination of a deployment's hand-offs: a folder, a webhook, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assistant.config.profiles import at_home
from assistant.wiring.storage import claims_of, hand_offs_place

if TYPE_CHECKING:
    from adapters.hand_off.delivery import DeliveryChannel
    from adapters.hand_off.outbox import Outbox
    from adapters.hand_off.outbox_sink import OutboxSink
    from assistant.config.settings import HandOffSettings
    from assistant.deployment import Deployment


def outbox(deployed: Deployment) -> Outbox:
    """Return the outbox of hand-offs; nothing is opened or created yet."""
    from adapters.hand_off.outbox import Outbox

    return Outbox(hand_offs_place(deployed), deployed.profile.name)


def hand_off_sink(deployed: Deployment) -> OutboxSink | None:
    """Return the sink that delivers hand-offs to GUARDIAN_HANDOFF_TO; `None` if that is empty."""
    settings = deployed.settings.hand_offs
    if not settings.to:
        return None
    from adapters.hand_off.outbox_sink import OutboxSink

    claims = claims_of(deployed, deployed.folder / "locks")
    return OutboxSink(outbox(deployed), _channel(settings), claims, timeout_s=settings.timeout_s)


def _channel(settings: HandOffSettings) -> DeliveryChannel:
    if "://" not in settings.to:
        from adapters.hand_off.folder import HandOffFolder

        return HandOffFolder(at_home(settings.to))
    from adapters.hand_off.webhook import Webhook

    return Webhook(settings.to, settings.key.get_secret_value())
