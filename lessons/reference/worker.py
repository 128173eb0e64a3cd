"""The working side: claim a job, let the handler of its type do it, tell queue and log how it went."""

from collections.abc import Callable, Mapping
from typing import Protocol

from lessons.reference.clock import Clock, seconds
from lessons.reference.job_queue import Payload


class Delivery(Protocol):
    """A job as its worker and handler see it. Both queues' jobs fit."""

    @property
    def id(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def payload(self) -> Payload: ...
    @property
    def attempts(self) -> int: ...
    @property
    def run_at_ms(self) -> int: ...
    @property
    def receipt(self) -> str: ...


Handler = Callable[[Delivery], None]


class Queue(Protocol):
    """What a worker needs of a queue: the lesson's and the hardened one both have it."""

    @property
    def jobs(self) -> Mapping[str, Delivery]: ...
    def claim(self) -> Delivery | None: ...
    def ack(self, receipt: str) -> str: ...
    def fail(self, receipt: str, error: str, permanent: bool = False) -> str: ...


class PermanentJobError(Exception):
    """Raised by a handler when trying again cannot help."""


class Worker:
    def __init__(self, queue: Queue, handlers: Mapping[str, Handler], clock: Clock, log: Callable[[str], None]) -> None:
        self.queue = queue
        self.handlers = handlers
        self.clock = clock
        self.log = log

    def run_once(self) -> bool:
        """Whether there was a job to work on."""
        job = self.queue.claim()
        if job is None:
            return False
        line = f"t={seconds(self.clock.now())}s {job.type} {job.id} attempt {job.attempts}: "
        try:
            self._handler_for(job)(job)
        except Exception as error:
            outcome = self.queue.fail(job.receipt, str(error), permanent=isinstance(error, PermanentJobError))
            line += f"failed ({error}), "
        else:
            outcome = self.queue.ack(job.receipt)
        # Only now, when the job is settled: a log that breaks must not fail a job that is done.
        self.log(line + self._in_words(job, outcome))
        return True

    def drain(self) -> None:
        """Work until nothing is due."""
        while self.run_once():
            pass

    def _handler_for(self, job: Delivery) -> Handler:
        if job.type not in self.handlers:
            raise LookupError(f"no handler for {job.type}")
        return self.handlers[job.type]

    def _in_words(self, job: Delivery, outcome: str) -> str:
        match outcome:
            case "retry":
                return f"retry at t={seconds(self.queue.jobs[job.id].run_at_ms)}s"
            case "dead":
                return "moved to the dead-letter queue"
            case "lost":
                return "too late: the lease was lost"
            case _:
                return outcome
