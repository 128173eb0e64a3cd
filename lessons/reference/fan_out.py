"""One event, and a queue for each subscriber: a slow or failing one holds up nobody else."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from lessons.reference.job_queue import Payload


class Inbox(Protocol):
    """The producer's side of a queue."""

    def enqueue(self, type: str, payload: Payload, id: str | None = None) -> str: ...


@dataclass(frozen=True)
class Subscriber:
    name: str
    job_type: str
    queue: Inbox


def publish(event_id: str, payload: Payload, subscribers: Iterable[Subscriber]) -> list[str]:
    """The ids of the jobs, one for each subscriber. They follow from the event's id, so publishing it
    again makes no second job as long as a queue knows the first.
    """
    return [
        subscriber.queue.enqueue(subscriber.job_type, payload, f"{event_id}:{subscriber.name}")
        for subscriber in subscribers
    ]
