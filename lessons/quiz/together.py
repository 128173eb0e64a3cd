"""Objective 5: the transactional outbox."""

import sqlite3
from contextlib import suppress
from random import Random

from lessons.quiz.making import Choose, Predict, Run, Write, choose, counted, fill, predict, proof, s, write
from lessons.reference.job_queue import Payload
from lessons.reference.outbox import SCHEMA, QueueUnreachable, claim_rows, place_order_with_outbox, relay_outbox


@choose(5, 17)
def enqueued_before_the_commit() -> Choose:
    return Choose(
        prompt="A checkout begins a database transaction, saves the order, and puts a job into a queue that is another "
        "system. Then it rolls back. Where is the job right after the rollback?",
        right=(
            "In the queue, for an order that does not exist.",
            "A rollback takes back what is in the database, and the queue is not in it.",
        ),
        wrong=[
            (
                "Nowhere: the rollback took it back with the order.",
                "Only if the queue is a table of the same database.",
            ),
            (
                "In the queue, but hidden until a later commit.",
                "The queue knows of no transaction. It hands the job to the first worker that asks.",
            ),
            (
                "In the dead letters, because its order is missing.",
                "Only a worker can find that out. First it gets the job.",
            ),
        ],
        explanation="Two systems share no transaction. A worker may even get the job before the commit, "
        "and look for an order that nobody can see yet.",
        proof=proof("outbox", "claim", "order-1000-receipt", hasty="permanent"),
    )


@choose(5, 18)
def enqueued_after_the_commit() -> Choose:
    return Choose(
        prompt="“I enqueue right after the commit. What do I need an outbox for?” What can still go wrong?",
        right=(
            "The process dies in between: an order without its job.",
            "After the commit nothing is left that would remember the job.",
        ),
        wrong=[
            (
                "Nothing: the order is safe, and its job follows at once.",
                "The order is safe. Until the enqueue, its job is only in memory.",
            ),
            ("The job can run before the order has been saved.", "That comes of enqueueing before the commit."),
            ("The commit is undone when the enqueue fails after it.", "A commit is final."),
        ],
        explanation="The gap is short, and every crash or outage of the queue can fall into it. "
        "A row in the outbox commits together with the order, so it cannot be missing.",
        proof=proof("outbox", "print", "naive: order saved"),
    )


@choose(5, 19)
def published_and_not_marked(chance: Random) -> Choose:
    done_before, hardened = chance.choice([True, False]), chance.choice([True, False])
    run = Run("outbox", relay_crashes=True, consumer_done_before_repeat=done_before,
              queue="hardened" if hardened else "lesson")  # fmt: skip
    receipts = len(run.effects("mail provider"))
    if receipts == 2:
        right_why = "The first job is done and its id forgotten, so the repeat is a new job."
    elif done_before:
        right_why = "The queue still knows the id of the job that is done, and ignores the repeat."
    else:
        right_why = "The first job is still in the queue, so the repeat of its id is ignored."
    return Choose(
        prompt="A relay publishes a row of the outbox and crashes before it marks the row as sent. "
        "A minute later it publishes the row again, under the same job id. "
        + (
            "By then a worker has sent the receipt and acked the job. "
            if done_before
            else "By then no worker has claimed the job. "
        )
        + (
            "The queue remembers ids for 5 minutes after the ack. "
            if hardened
            else "The queue knows an id only while its job is in the queue. "
        )
        + "How many receipts does the customer get?",
        right=(counted(receipts, "receipt"), right_why),
        wrong=[
            ("1 receipt", "The id is the same, but this queue has forgotten it by then."),
            ("2 receipts", "Two publishes are two jobs only if the queue does not know the id."),
            ("0 receipts", "Nothing is lost: the row was published before the crash."),
            ("a receipt a minute, for ever", "After the second publish the row is marked."),
        ],
        explanation="An outbox is at least once, too. A job id helps as long as the queue knows it. "
        "To be safe the consumer must notice repeats itself.",
        proof=run.at(run.find("enqueue" if receipts == 2 else "ignored", "outbox-1", nth=-1)),
    )


@choose(5)
def batches_of_the_relay(chance: Random) -> Choose:
    rows, back, batch = chance.choice([110, 120, 130]), chance.choice([2, 3]), 100
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.executescript(SCHEMA)
    for order_id in range(rows):
        place_order_with_outbox(db, order_id, "ada@example.com")
    published: list[tuple[int, int]] = []

    def publish(type: str, payload: Payload, id: str) -> None:
        if number < back:
            raise QueueUnreachable("queue unreachable")

    for number in range(1, back + 4):
        with suppress(QueueUnreachable):
            if count := relay_outbox(db, publish, now_ms=number * 1_000, batch=batch):
                published.append((number, count))
    db.close()

    def told(runs: list[tuple[int, int]]) -> str:
        return ", ".join(f"{count} in run {number}" for number, count in runs)

    return Choose(
        prompt=f"{rows} rows wait in the outbox. The relay takes up to {batch} in a run. "
        f"The queue cannot be reached before the relay's run {back}. How many messages are published, and when?",
        right=(told(published), "Runs that cannot reach the queue mark nothing, and no row is left out."),
        wrong=[
            (told([(back, rows)]), f"A run takes no more than its {batch} rows. The rest waits for the next one."),
            (told([(back, rows - batch)]), f"The first {batch} were claimed in the outage, but given back, not sent."),
            (told([(back, batch)]) + ", the rest is lost", "An unsent row stays until it is sent."),
        ],
        explanation="A row is marked after it is published, never before. So an outage delays messages and loses none.",
        proof=proof("outbox", "print", f"relay run {back + 1}: published", rows=rows, queue_up_from_run=back),
    )


@choose(5)
def claim_of_a_dead_relay(chance: Random) -> Choose:
    claim_ms, run = 60_000, chance.randrange(1, 11)  # the relay's first run with a queue, at one run a second
    claimed_at_ms = run * 1_000
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.executescript(SCHEMA)
    place_order_with_outbox(db, 1001, "ada@example.com")
    claim_rows(db, claimed_at_ms, 100, claim_ms)
    now_ms = claimed_at_ms
    while not claim_rows(db, now_ms, 100, claim_ms):
        now_ms += 500
    db.close()
    return Choose(
        prompt=f"Relay A claims a row of the outbox at t={s(claimed_at_ms)} for {s(claim_ms)}, and dies. "
        "Relay B looks every half second. When does B get the row?",
        right=(f"t={s(now_ms)}", "When the claim is over: like the lease of a job."),
        wrong=[
            (f"t={s(now_ms + 500)}", "At exactly its end the claim is over, so the look at that moment finds the row."),
            (f"t={s(claim_ms)}", "The claim began when relay A took the row, not at t=0."),
            ("never: the row is relay A's", "A claim ends by itself, or a crash would block the row for ever."),
            (f"t={s(claimed_at_ms + 500)}", "Then it is still claimed. Nobody sees that relay A is dead."),
        ],
        explanation="A claim keeps two relays from sending the same row side by side. "
        "It must be longer than a batch takes, or a second relay begins the batch anew.",
        proof=proof("outbox", "sql", "claimed_until_ms in 1 row", relay_crashes=True, queue_up_from_run=run, nth=-1),
    )


@choose(5, 17)
def order_not_found(chance: Random) -> Choose:
    hasty = chance.choice(["permanent", "transient"])
    run = Run("outbox", hasty=hasty)
    receipts = sum("order 1000" in effect.what for effect in run.end.effects)
    permanent = hasty == "permanent"
    ends = {
        0: "none: the job is a dead letter",
        1: "one, at the second attempt",
    }
    return Choose(
        prompt="A checkout publishes the job first and saves order 1000 a moment later. "
        "A worker is faster and finds no such order. "
        + (
            "It takes “not found” for a permanent error. "
            if permanent
            else "It takes “not found” for a transient error, and the job is due again a second later. "
        )
        + "How many receipts go out for order 1000?",
        right=(
            ends[receipts],
            "The order exists a moment later, but the job has been given up."
            if permanent
            else "A second later the order is there.",
        ),
        wrong=[
            (
                ends[1 - receipts],
                "There is no second attempt: a permanent error is the end of the job."
                if permanent
                else "One transient error does not end the job: it has more attempts.",
            ),
            ("two: one for each of the attempts", "The first attempt sent nothing."),
            ("one, at the first attempt", "At the first attempt there was no order to read an address from."),
        ],
        explanation="“Not found” is permanent only if the order cannot come later. "
        "With an outbox the message is published after the commit, and the question is gone.",
        proof=run.at(run.find("dead" if permanent else "effect", "order")),
    )


@choose(5)
def orders_and_receipts(chance: Random) -> Choose:
    rows = chance.randrange(2, 7)
    run = Run("outbox", rows=rows)
    receipts = len(run.effects("mail provider"))
    orders = len(next(table for table in run.end.tables if table.name == "orders").rows)

    def told(orders: int, receipts: int) -> str:
        return f"{counted(orders, 'order')}, {counted(receipts, 'receipt')}"

    return Choose(
        prompt="The queue is down for a moment. One checkout saves its order and then tries to enqueue the job. "
        f"{rows} others save their orders together with a row in the outbox. "
        "Later the queue is back, the relay runs, and a worker does all jobs. What is there in the end?",
        right=(told(orders, receipts), "The first order is saved, and nobody remembers its job."),
        wrong=[
            (told(rows + 1, rows + 1), "The first checkout's job was never stored anywhere."),
            (told(rows, rows), "A failed enqueue does not take the saved order back."),
            (told(rows + 1, 0), "The relay publishes the rows of the outbox when the queue is back."),
        ],
        explanation="Saving and enqueueing are two steps in two systems, and the outage fell between them. "
        "With the outbox there is one step.",
        proof=run.at(run.find("print", "orders:")),
    )


@predict(5, 17)
def rolled_back(chance: Random) -> Predict:
    good = chance.randrange(1, 4)
    return Predict(
        program=fill(
            """
import sqlite3

from lessons.reference.database import transaction
from lessons.reference.outbox import SCHEMA

db = sqlite3.connect(":memory:", isolation_level=None)
db.executescript(SCHEMA)
queue = []

def checkout(order_id, fails):
    with transaction(db):
        db.execute("INSERT INTO orders VALUES (?, 'ada@example.com', 100)", (order_id,))
        db.execute("INSERT INTO outbox (type, payload) VALUES ('send-receipt', '{}')")
        queue.append(order_id)  # a queue outside of the database
        if fails:
            raise RuntimeError("crashed before the commit")

for order_id in range($good):
    checkout(order_id, fails=False)
try:
    checkout(1001, fails=True)
except RuntimeError as error:
    print(error)
for table in ["orders", "outbox"]:
    print(table, db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
print("queue", len(queue))
db.close()
""",
            good=good,
        ),
        explanation="The rollback takes back the order and its row in the outbox, both of them. "
        "The queue is outside: it keeps a message about an order that does not exist.",
        proof=proof("idempotent-consumer", "sql", "rolled back", crash="between"),
    )


@predict(5, 20)
def late_commit(chance: Random) -> Predict:
    low = chance.randrange(1, 90)
    return Predict(
        prompt=f"Two transactions get the ids {low} and {low + 1}, in this order. "
        "The one with the higher id commits first. What does this program print?",
        program=fill(
            """
outbox = []         # the ids of the committed rows: what a relay can see
by_cursor = []      # published by "id > last"
by_mark = []        # published by "not sent yet"
last = 0

def relay():
    global last
    for id in sorted(outbox):
        if id > last:
            by_cursor.append(id)
            last = id
        if id not in by_mark:
            by_mark.append(id)

outbox.append($high)
relay()
outbox.append($low)
relay()
outbox.append($next)
relay()
print("id > last:", by_cursor)
print("not sent yet:", by_mark)
""",
            low=low,
            high=low + 1,
            next=low + 2,
        ),
        explanation="An id is given out before the commit, so a lower one can become visible later. "
        "A cursor has passed it by then and never sends it. Asking for unsent rows finds it, out of order.",
        proof=proof("outbox", "sql", "claimed_until_ms in 1 row", nth=-1),
    )


@predict(5)
def one_bad_row(chance: Random) -> Predict:
    bad = chance.choice([1001, 1002, 1003])
    return Predict(
        program=fill(
            """
import sqlite3

from lessons.reference.outbox import SCHEMA, place_order_with_outbox, relay_outbox

db = sqlite3.connect(":memory:", isolation_level=None)
db.executescript(SCHEMA)
for order_id in [1001, 1002, 1003]:
    place_order_with_outbox(db, order_id, "ada@example.com")

def publish(type, payload, id):
    if payload["order_id"] == $bad:
        raise ValueError("payload too big")
    print(id)

print("published", relay_outbox(db, publish, now_ms=0))
print("published", relay_outbox(db, publish, now_ms=500))
unsent = db.execute("SELECT id, attempts FROM outbox WHERE sent_at_ms IS NULL").fetchall()
print("unsent", unsent)
db.close()
""",
            bad=f"{bad}",
        ),
        explanation="One message that cannot be published holds up no other. "
        "Its row is tried again after a pause of 1 s, so the second run, half a second later, finds nothing to do.",
        proof=proof("outbox", "print", "published 2", rows=2),
    )


@predict(5, 19)
def relay_dies_before_the_mark(chance: Random) -> Predict:
    return Predict(
        program=fill(
            """
import sqlite3

from lessons.reference.clock import ManualClock
from lessons.reference.job_queue import JobQueue, QueueOptions
from lessons.reference.outbox import SCHEMA, claim_rows, place_order_with_outbox, relay_outbox

db = sqlite3.connect(":memory:", isolation_level=None)
db.executescript(SCHEMA)
place_order_with_outbox(db, 1002, "bola@example.com")
queue = JobQueue(ManualClock(), QueueOptions(5, visibility_ms=30_000, backoff=lambda attempt: 1_000))

for row in claim_rows(db, now_ms=0, batch=100, claim_ms=$claim_ms):
    queue.enqueue(row.type, {}, f"outbox-{row.id}")  # published, and the relay dies: no mark

print(relay_outbox(db, queue.enqueue, now_ms=$almost_ms), queue.pending)
print(relay_outbox(db, queue.enqueue, now_ms=$claim_ms), queue.pending)
print(relay_outbox(db, queue.enqueue, now_ms=$later_ms), queue.pending)
db.close()
""",
            claim_ms=(claim_ms := chance.choice([30_000, 60_000, 90_000])),
            almost_ms=claim_ms - 1,
            later_ms=claim_ms * 2,
        ),
        explanation="As long as the claim lasts, nobody touches the row. At its end the row is published again, "
        "under the same id. The queue still has that job and ignores the repeat. Now the row is marked.",
        proof=proof("outbox", "ignored", relay_crashes=True),
    )


@write(5, 18)
def save_both() -> Write:
    return Write(
        prompt="Write `place_order(db, order_id, message)`: save the order in `orders (id)` and the message in "
        "`outbox (message)`, both or neither. `with transaction(db):` is there for you. "
        "Errors go through to the caller.",
        starter="""from lessons.reference.database import transaction


def place_order(db, order_id, message):
    db.execute("INSERT INTO orders VALUES (?)", (order_id,))
    db.execute("INSERT INTO outbox VALUES (?)", (message,))
""",
        solution="""from lessons.reference.database import transaction


def place_order(db, order_id, message):
    with transaction(db):
        db.execute("INSERT INTO orders VALUES (?)", (order_id,))
        db.execute("INSERT INTO outbox VALUES (?)", (message,))
""",
        check="""import sqlite3


def check(namespace):
    place_order = wanted(namespace, "place_order")
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        look(db, place_order)
    finally:
        db.close()


def look(db, place_order):
    db.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    db.execute("CREATE TABLE outbox (message TEXT NOT NULL)")

    def saved():
        return tuple(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("orders", "outbox"))

    def told():
        counts = zip(saved(), ("order", "message"))
        return " and ".join(f"{count} {word if count == 1 else word + 's'}" for count, word in counts)

    called(place_order, db, 1001, "send-receipt")
    if db.in_transaction:
        raise AssertionError("A transaction is still open. Leave its block.")
    if saved() != (1, 1):
        raise AssertionError(f"After one order the database has {told()}, not 1 and 1.")
    refused = ((1002, None, "a second order's message"), (1001, "send-receipt", "a repeat of the order"))
    for order_id, message, what in refused:
        try:
            place_order(db, order_id, message)
        except sqlite3.IntegrityError:
            pass
        else:
            raise AssertionError(f"The database refused {what}, but the caller was not told. Let the error through.")
        if saved() != (1, 1):
            raise AssertionError(
                f"After a first order that went well, the database refused {what}. Then neither the order "
                f"nor its message should be saved, but now the database has {told()}, not 1 and 1."
            )
""",
        explanation="In one transaction there is no moment at which one is saved and the other is not. "
        "A crash or an error anywhere in the block leaves neither.",
        proof=proof("outbox", "sql", "commits"),
    )


@write(5)
def mark_after_publishing() -> Write:
    return Write(
        prompt="Write `relay(rows, publish)`. Each row is a dict with `id` and `sent` (True or False). "
        'For each unsent row in turn call `publish(f"outbox-{id}")`, and only then set `sent` to True. '
        "If `publish` raises, the row stays unsent and the others go on. Return how many were published.",
        starter="""def relay(rows, publish):
    for row in rows:
        row["sent"] = True
        publish(f"outbox-{row['id']}")
    return len(rows)
""",
        solution="""def relay(rows, publish):
    published = 0
    for row in rows:
        if row["sent"]:
            continue
        try:
            publish(f"outbox-{row['id']}")
        except Exception:
            continue
        row["sent"] = True
        published += 1
    return published
""",
        check="""def check(namespace):
    relay = wanted(namespace, "relay")
    rows = [{"id": id, "sent": id == 2} for id in (1, 2, 3, 4)]
    got, early, bad = [], [], {"outbox-3"}

    def publish(id):
        early.extend(id for row in rows if row["sent"] and id == f"outbox-{row['id']}")
        if id in bad:
            raise ConnectionError("queue unreachable")
        got.append(id)

    def run():
        try:
            return relay(rows, publish)
        except ConnectionError:
            raise AssertionError("One row could not be published, and its error ended the run. Go on.") from None
        except Exception as error:
            raise AssertionError(f"The relay raised {type(error).__name__}: {error}.") from error

    first = run()
    if "outbox-2" in got:
        raise AssertionError("Row 2 was sent before, and it was published again.")
    if early:
        raise AssertionError(f"Row {early[0]} was marked as sent before it was published. A crash now would lose it.")
    if got != ["outbox-1", "outbox-4"]:
        raise AssertionError(f"outbox-3 cannot be published, the others can. It published {got}.")
    if [row["sent"] for row in rows] != [True, True, False, True]:
        raise AssertionError(f"Row 3 alone should be unsent. The rows are {rows}.")
    if first != 2:
        raise AssertionError(f"Two messages were published, but relay returned {first!r}.")
    bad.clear()
    if run() != 1 or got[2:] != ["outbox-3"]:
        raise AssertionError(f"The next run should publish outbox-3, and nothing else. It published {got[2:]}.")
""",
        explanation="Publish, then mark. A crash in between leads to a repeat, which a consumer can notice. "
        "The other way round it leads to a loss, which nobody can.",
        proof=proof("outbox", "sql", "sets sent_at_ms"),
    )


@write(5, 20)
def rows_to_publish() -> Write:
    return Write(
        prompt="Write `due_ids(rows, now_ms)`: the ids of the rows that a relay may publish now, smallest first. "
        "Each row is a dict with `id`, `sent_at_ms` (None while unsent) and `claimed_until_ms`. "
        "A row is due if it is unsent and its claim is over; at exactly that time it is over.",
        starter="""def due_ids(rows, now_ms):
    last_sent = max((row["id"] for row in rows if row["sent_at_ms"] is not None), default=0)
    return [row["id"] for row in rows if row["id"] > last_sent]
""",
        solution="""def due_ids(rows, now_ms):
    return sorted(row["id"] for row in rows if row["sent_at_ms"] is None and row["claimed_until_ms"] <= now_ms)
""",
        check="""def row(id, sent_at_ms=None, claimed_until_ms=0):
    return {"id": id, "sent_at_ms": sent_at_ms, "claimed_until_ms": claimed_until_ms}


def check(namespace):
    due_ids = wanted(namespace, "due_ids")
    same([], due_ids, [], 0)
    same([1, 2], due_ids, [row(2), row(1)], 0)
    same([1], due_ids, [row(2, sent_at_ms=0), row(1)], 1_000)
    same([], due_ids, [row(1, claimed_until_ms=60_000)], 59_999)
    same([1], due_ids, [row(1, claimed_until_ms=60_000)], 60_000)
    same([], due_ids, [row(1, sent_at_ms=500, claimed_until_ms=400)], 60_000)
""",
        explanation="Ask for what is unsent. Row 1 may commit after row 2 was sent, and “id > last” would skip it. "
        "The claim keeps a second relay away.",
        proof=proof("outbox", "sql", "claimed_until_ms in no row"),
    )
