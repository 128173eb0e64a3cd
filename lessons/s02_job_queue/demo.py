"""A queue that is driven by hand: a list of operations, done one after the other."""

import re
from dataclasses import dataclass
from typing import Any

from lessons import params, which_queue
from lessons.recorder import Recorder
from lessons.reference.backoff import doubling
from lessons.reference.clock import ManualClock, seconds
from lessons.reference.hardened_queue import IdConflict
from lessons.reference.job_queue import QueueOptions
from lessons.reference.worker import Delivery

TYPES = {"receipt": "send-receipt", "invoice": "render-invoice"}
ERRORS = {  # one that goes away, and one that is permanent
    "send-receipt": ("mail provider: 503", "no such address"),
    "render-invoice": ("renderer: timed out", "the order has no lines"),
}
NOTHING = "none"
MOST_OPERATIONS = 60
MOST_MS = 3_600_000
GRAMMAR = (
    ("enqueue", r"enqueue"),
    ("enqueue.receipt or enqueue.invoice, with .ID or without", r"enqueue\.(receipt|invoice)(\.[A-Za-z0-9-]{1,20})?"),
    ("claim.A", r"claim\.[AB]"),
    ("ack.A", r"ack\.[AB]"),
    ("fail.A", r"fail\.[AB]"),
    ("fail.A.permanent", r"fail\.[AB]\.permanent"),
    ("crash.A", r"crash\.[AB]"),
    ("renew.A", r"renew\.[AB]"),
    ("release.A (each of these with A or B)", r"release\.[AB]"),
    (f"advance.MS (1 to {MOST_MS} ms)", r"advance\.[1-9][0-9]{0,6}"),
    ("replay.ID", r"replay\.[A-Za-z0-9-]{1,20}"),
)
ALLOWED = ", ".join(words for words, _ in GRAMMAR)
TELLING = (
    "enqueue enqueue.invoice claim.A claim.B ack.B fail.A advance.1000 claim.A crash.A advance.30000 claim.B ack.B"
)


@dataclass(frozen=True)
class Params:
    ops: str = params.text(
        TELLING, max_length=2_300, label="Operations",
        help=f"With a space between them: {ALLOWED}. An ID is letters, digits and hyphens. "
        f"At most {MOST_OPERATIONS} operations; {NOTHING} is an untouched queue.",
    )  # fmt: skip
    queue: str = which_queue.choice("The hardened one closes the holes. It also has renew and release.")
    max_attempts: int = params.whole(
        3, low=1, high=10, label="Max attempts", help="The first try counts as an attempt."
    )
    visibility_ms: int = params.whole(
        30_000, low=1, high=MOST_MS, unit="ms", label="Visibility timeout", help="How long a claimed job stays hidden."
    )
    base_ms: int = params.whole(
        1_000, low=1, high=60_000, unit="ms", label="Backoff base",
        help="The pause after the first failure. It doubles each time, up to 60 s.",
    )  # fmt: skip

    @property
    def operations(self) -> tuple[str, ...]:
        """The operations in order, such as ("enqueue", "claim.A", "advance.1000")."""
        return () if self.ops == NOTHING else tuple(self.ops.split())

    def conflicts(self) -> dict[str, str]:
        for place, op in enumerate(self.operations, start=1):
            if not is_operation(op):
                shown = op if len(op) <= 40 else op[:39] + "…"
                return {"ops": f'ops: operation {place}, "{shown}", is none of these: {ALLOWED}'}
        count = len(self.operations)
        if count > MOST_OPERATIONS:
            return {"ops": f"ops must be at most {MOST_OPERATIONS} operations, not {count}"}
        return {}


def is_operation(op: str) -> bool:
    """Whether it is one that `run` knows."""
    known = any(re.fullmatch(pattern, op) for _, pattern in GRAMMAR)
    return known and not (op.startswith("advance.") and int(op.partition(".")[2]) > MOST_MS)


def run(p: Params, lab: Recorder) -> None:
    clock = lab.watch_clock(ManualClock())
    options = QueueOptions(p.max_attempts, p.visibility_ms, doubling(p.base_ms, 60_000))
    queue = lab.watch_queue(which_queue.BY_NAME[p.queue](clock, options))
    shop = Shop(queue, lab)
    lab.print(f"t=0s an empty queue: max attempts {p.max_attempts}, leases of {seconds(p.visibility_ms)}s")
    for op in p.operations:
        match op.split("."):
            case ["enqueue", *what]:
                line = shop.enqueue(*what)
            case ["replay", id]:
                line = shop.replay(id)
            case ["advance", ms]:
                clock.advance(int(ms))
                line = f"the clock has moved on {seconds(int(ms))}s"
            case ["claim", name]:
                line = shop.claim(f"worker {name}")
            case ["fail", name, "permanent"]:
                line = shop.work("fail permanently", f"worker {name}")
            case [verb, name]:
                line = shop.work(verb, f"worker {name}")
        lab.also_print(f"t={seconds(clock.now())}s {line}")


class Shop:
    """The people around the queue. Each method does one operation and returns a line that tells it."""

    def __init__(self, queue: Any, lab: Recorder) -> None:
        self.queue = queue
        self.lab = lab
        self.in_hand: dict[str, Delivery] = {}  # worker -> the job that it believes it holds
        self.orders: dict[str, int] = {}  # job id -> the order that the job is about

    def enqueue(self, kind: str = "receipt", id: str | None = None) -> str:
        order_id = self.orders.get(id or "", 1001 + len(self.orders))
        payload: dict[str, object] = {"order_id": order_id}
        if kind == "receipt":
            payload["email"] = "ada@example.com"
        before = self.queue.pending
        with self.lab.acting("the checkout"):
            try:
                id = self.queue.enqueue(TYPES[kind], payload, id)
            except IdConflict as conflict:
                return f"the checkout enqueues {id} ({TYPES[kind]}): refused, {conflict}"
        self.orders.setdefault(str(id), order_id)
        added = "" if self.queue.pending > before else ": that id is known, nothing is added"
        return f"the checkout enqueues {id} ({TYPES[kind]}){added}"

    def claim(self, who: str) -> str:
        with self.lab.acting(who):
            if who in self.in_hand:
                return self.nothing(f"{who} is at work on {self.in_hand[who].id} and asks for no other job")
            job = self.queue.claim()
        if job is None:
            return f"{who} asks for a job: none is due"
        self.in_hand[who] = job
        return f"{who} claims {job.id}: attempt {job.attempts}, leased until t={seconds(job.leased_until_ms)}s"

    def work(self, verb: str, who: str) -> str:
        """What a worker does with its job: a worker whose lease is over does not know it, and does the same."""
        with self.lab.acting(who):
            job = self.in_hand.get(who)
            if job is None:
                return self.nothing(f"{who} has no job in hand: nothing to {verb}")
            if verb in ("renew", "release") and not hasattr(self.queue, verb):
                return self.nothing(f"{who} cannot {verb} {job.id}: the lesson's queue has no {verb}")
            if verb != "renew":
                del self.in_hand[who]
            return f"{who} {self.settle(verb, job)}"
        return f"{who} crashes with {job.id} in hand"

    def settle(self, verb: str, job: Delivery) -> str:
        mine = f"{job.id} (attempt {job.attempts})"
        match verb:
            case "ack":
                self.effect(job)
                return f"has done {mine} and acks: {self.queue.ack(job.receipt)}"
            case "fail":
                error = ERRORS[job.type][0]
                return f"failed at {mine}, {error}: {self.queue.fail(job.receipt, error)}"
            case "fail permanently":
                error = ERRORS[job.type][1]
                return f"failed at {mine}, {error}: {self.queue.fail(job.receipt, error, permanent=True)}"
            case "renew":
                return f"renews its lease on {mine}: {self.queue.renew(job.receipt)}"
            case "release":
                return f"gives {mine} back: {self.queue.release(job.receipt)}"
        self.lab.crash(f"{self.lab.actor} dies with {job.id} in hand. The queue hears nothing.")
        raise AssertionError  # a crash has left the block

    def effect(self, job: Delivery) -> None:
        order_id = job.payload["order_id"]
        if job.type == "send-receipt":
            self.lab.effect("mail provider", f"receipt for order {order_id} sent to {job.payload['email']}")
        else:
            self.lab.effect("file store", f"invoice-{order_id}.pdf written")

    def replay(self, id: str) -> str:
        with self.lab.acting("the operator"):
            letter = next((letter for letter in self.queue.dead if letter.id == id), None)
            if letter is None:
                return self.nothing(f"the operator finds no dead letter {id}")
            if id in self.queue.jobs:
                return self.nothing(f"the operator leaves the dead letter {id}: a job of that id is in the queue")
            if hasattr(self.queue, "replay"):
                self.queue.replay(id)
            else:  # by hand: the letter is taken out and enqueued as a new job
                self.queue.dead.remove(letter)
                self.queue.enqueue(letter.type, letter.payload, id)
        return f"the operator replays {id}"

    def nothing(self, line: str) -> str:
        self.lab.step("idle", f"{line}.")
        return line
