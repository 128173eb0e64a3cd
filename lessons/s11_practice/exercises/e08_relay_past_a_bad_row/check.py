"""Judges a relay: bad rows of two kinds, a queue that is away, and crashes between publishing and marking."""

import contextlib
import random
import sqlite3
from dataclasses import dataclass
from typing import Any

from lessons.checking import CRASHED, LONGEST_RANDOM, Crash, Diary, Schedule, Verdict, judge
from lessons.reference.clock import ManualClock, seconds
from lessons.reference.outbox import SCHEMA, QueueUnreachable

PAUSE_MS = 60_000
PAYLOADS = {"good": '{"order_id": 1001}', "not JSON": "{order_id: 1001", "refused": '{"order_id": -1}'}
WORDS = {"good": "a message", "not JSON": "a row that is not JSON", "refused": "a row that publish refuses"}
ADVERSARIAL: list[Schedule] = [
    (("row", "good"), ("run",), ("run",)),
    (("row", "refused"), ("row", "good"), ("run",)),
    (("row", "not JSON"), ("row", "good"), ("run",)),
    (("row", "refused"), ("run",), ("advance", 59_999), ("run",), ("advance", 1), ("run",)),
    (("row", "good"), ("queue away",), ("run",), ("queue back",), ("run",)),
    (("row", "good"), ("row", "good"), ("queue away after one",), ("run",), ("queue back",), ("run",)),
    (("row", "good"), ("row", "good"), ("crash",), ("run",), ("run",)),
    (("row", "good"), ("row", "good"), ("row", "good"), ("crash after one",), ("run",), ("run",)),
]


@dataclass
class Model:
    """A row as it should be."""

    id: int
    kind: str
    try_at_ms: int = 0
    attempts: int = 0
    sent: bool = False

    def __str__(self) -> str:
        if self.sent:
            return f"{self.id} sent"
        if not self.attempts:
            return f"{self.id} unsent"
        times = f"{self.attempts} time{'s' if self.attempts != 1 else ''}"
        return f"{self.id} unsent, failed {times}, not before t={seconds(self.try_at_ms)}s"


def check(source: str) -> Verdict:
    """The verdict on `relay`."""
    return judge(source, "relay", play, ADVERSARIAL, random_schedule)


def play(piece: Any, schedule: Schedule, diary: Diary) -> None:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.executescript(SCHEMA)
        _play(piece, schedule, diary, db)


def _play(piece: Any, schedule: Schedule, diary: Diary, db: sqlite3.Connection) -> None:
    clock = ManualClock()
    rows: list[Model] = []
    published: list[str] = []
    away_after: int | None = None  # how many messages the queue still takes; None for any number
    crash_after: int | None = None  # how many it takes before the one at which the relay dies

    def publish(type: str, payload: Any, id: str) -> None:
        if away_after is not None and len(published) >= away_after:
            raise QueueUnreachable("queue unreachable")
        if payload["order_id"] < 0:
            raise ValueError("order_id must be positive")
        published.append(id)
        if crash_after is not None and len(published) > crash_after:
            raise Crash

    for operation in schedule:
        at = f"t={seconds(clock.now())}s: "
        match operation:
            case ("row", kind):
                db.execute("INSERT INTO outbox (type, payload) VALUES ('send-receipt', ?)", (PAYLOADS[kind],))
                rows.append(Model(len(rows) + 1, kind))
                diary.note(f"{at}outbox row {len(rows)} is saved: {WORDS[kind]}")
            case ("queue away",):
                away_after = 0
                diary.note(f"{at}the queue cannot be reached")
            case ("queue away after one",):
                away_after = 1
                diary.note(f"{at}the queue will take one more message, then it cannot be reached")
            case ("queue back",) if away_after is not None:
                away_after = None
                diary.note(f"{at}the queue can be reached again")
            case ("crash" | "crash after one" as when,):
                crash_after = 0 if when == "crash" else 1
                which = "next" if when == "crash" else "second"
                diary.note(f"{at}the relay will die right after it publishes its {which} message, before the mark")
            case ("advance", ms):
                clock.advance(ms)
                diary.note(f"the clock moves on {seconds(ms)}s, to t={seconds(clock.now())}s")
            case ("run",):
                published.clear()
                answer, ids = _run(rows, clock.now(), away_after, crash_after)
                try:
                    diary.step(f"{at}the relay runs", answer, piece, db, publish, clock.now())
                finally:
                    if db.in_transaction:  # what a process that ends leaves behind
                        db.rollback()
                if len(ids) > (crash_after if crash_after is not None else 99):
                    crash_after = None
                diary.same("the messages of this run", ids, published)
                stored = db.execute("SELECT id, try_at_ms, attempts, sent_at_ms, last_error FROM outbox").fetchall()
                found = [Model(id, "", due, attempts, sent is not None) for id, due, attempts, sent, _ in stored]
                diary.same("the rows", rows, found)
                silent = [id for id, _, attempts, sent, error in stored if attempts and sent is None and not error]
                diary.same("failed rows without last_error", [], silent)


def _run(rows: list[Model], now_ms: int, away_after: int | None, crash_after: int | None) -> tuple[str, list[str]]:
    """What a run answers, and the ids that it publishes."""
    ids: list[str] = []
    for row in rows:
        if row.sent or row.try_at_ms > now_ms:
            continue
        reached = away_after is None or len(ids) < away_after
        if row.kind != "not JSON" and not reached:
            return "QueueUnreachable was raised", ids
        if row.kind != "good":
            row.attempts, row.try_at_ms = row.attempts + 1, now_ms + PAUSE_MS
            continue
        ids.append(f"outbox-{row.id}")
        if crash_after is not None and len(ids) > crash_after:
            return CRASHED, ids
        row.sent = True
    return str(len(ids)), ids


def random_schedule(chance: random.Random) -> Schedule:
    operations: list[tuple[Any, ...]] = [
        ("row", "good"), ("row", "good"), ("row", "not JSON"), ("row", "refused"), ("run",), ("run",), ("run",),
        ("queue away",), ("queue away after one",), ("queue back",), ("queue back",), ("crash",), ("crash after one",),
        ("advance", 1_000), ("advance", 59_999), ("advance", 60_000),
    ]  # fmt: skip
    return tuple(chance.choice(operations) for _ in range(chance.randint(3, LONGEST_RANDOM)))
