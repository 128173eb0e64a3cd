"""Objective 4: at-least-once delivery and idempotent consumers."""

from random import Random

from lessons.quiz.making import Choose, Predict, Run, Write, choose, counted, fill, new_queue, predict, proof, s, write
from lessons.reference.clock import ManualClock
from lessons.reference.hardened_queue import HardenedQueue
from lessons.reference.idempotent_consumer import points_for
from lessons.reference.job_queue import QueueOptions


@choose(4, 1)
def what_a_lease_promises() -> Choose:
    return Choose(
        prompt="A queue with leases says “at least once”. A worker does the job, and its ack never arrives. "
        "What does the queue do?",
        right=(
            "It hands the job out again when the lease ends.",
            "It cannot know whether the work was done, and it must not lose a job.",
        ),
        wrong=[
            ("It sees that the work was done.", "The queue sees claims, acks and fails. It does not see the effect."),
            (
                "It drops the job, because it was delivered once already.",
                "Then a worker that dies early would lose it.",
            ),
            ("It moves the job to the dead letters.", "There are attempts left, and nobody reported a failure."),
        ],
        explanation="Without an ack, “done” and “dead” look the same from outside. "
        "So plan for a second delivery, and make the effect happen once.",
        proof=proof("redelivery", "claim", actor="worker B"),
    )


@choose(4, 3)
def a_single_worker() -> Choose:
    return Choose(
        prompt="There is one worker, and it does one job at a time. It sends a receipt, and dies before the ack. "
        "It is started again and goes on. Can the customer get a second receipt?",
        right=(
            "Yes: when the lease ends, it gets the job again.",
            "A redelivery needs no second worker.",
        ),
        wrong=[
            (
                "No: a repeat needs two workers with the same job.",
                "Two workers make it likelier. One that comes back is enough.",
            ),
            (
                "No: after the restart the worker knows what it did.",
                "What it had in memory is gone, and the queue got no ack.",
            ),
            (
                "Yes, but only if a second worker is started, too.",
                "Whoever asks next gets the job, the same worker included.",
            ),
        ],
        explanation="The queue hands out what has no ack and no lease. Who asks for it does not matter.",
        proof=proof("redelivery", "effect", nth=2),
    )


@choose(4, 1)
def slower_than_the_lease(chance: Random) -> Choose:
    lease_ms = chance.choice([20_000, 30_000, 45_000])
    work_ms = lease_ms + chance.choice([5_000, 10_000, 15_000])
    run = Run("redelivery", visibility_ms=lease_ms, work_ms=work_ms, a_dies="never",
              first_look_ms=1_000, second_look_ms=lease_ms)  # fmt: skip
    sent = run.effects("mail provider")

    def receipts(at_ms: list[int]) -> str:
        return f"{counted(len(at_ms), 'receipt')}: at " + " and ".join(s(ms) for ms in at_ms)

    return Choose(
        prompt=f"The lease is {s(lease_ms)}, and the job takes {s(work_ms)}. Worker A claims it at t=0. "
        "Worker B has nothing to do and looks at the queue all the time. Nobody crashes, nobody renews a lease. "
        "Both send the receipt at the end of their work. How many receipts go out?",
        right=(receipts(sent), f"At {s(lease_ms)} the lease is over, and B begins the same job."),
        wrong=[
            (receipts([work_ms]), "Worker A is healthy, but the queue only looks at the lease."),
            (receipts([work_ms, 2 * work_ms]), "B does not wait for A: it begins when the lease ends."),
            (receipts([lease_ms, lease_ms + work_ms]), "The end of a lease does not stop worker A, or make it faster."),
        ],
        explanation="A lease must be longer than the slowest normal run, or be renewed while the work goes on.",
        proof=run.at(run.find("effect", nth=2)),
    )


@choose(4, 6)
def acked_too_early(chance: Random) -> Choose:
    handed_out = chance.randrange(2, 6)
    killed_after = chance.randrange(0, 10 // handed_out * handed_out)  # in a full hand
    _, queue = new_queue()
    for _ in range(10):
        queue.enqueue("send-receipt", {})
    done, hand = 0, 0
    while done < killed_after or hand == 0:
        if hand == 0:
            for _ in range(handed_out):
                if job := queue.claim():
                    queue.ack(job.receipt)
                    hand += 1
        if done < killed_after:
            hand, done = hand - 1, done + 1
    lost = 10 - done - queue.pending
    return Choose(
        prompt=f"Ten jobs, one worker. The worker takes up to {handed_out} jobs at a time and acks them at once, "
        "before the work. Then it does them one after the other, and takes the next ones when it has none left. "
        f"It is killed in the middle of its job number {killed_after + 1}. How many jobs are lost?",
        right=(str(lost), "All that it held: acked, so gone from the queue, and not done."),
        wrong=[
            ("0", "A crash brings a job back only if it is still in the queue, under a lease."),
            ("1", "The job in work is lost, and so are those that wait in the worker's hand."),
            (str(handed_out), "Some of the jobs that it took have been done before."),
            (str(10 - done), "Those that it has not taken yet are safe in the queue."),
            (str(lost + 1), "Only what was taken and not done is lost."),
        ],
        explanation="An ack says “delete it”. Before the work that is at-most-once: whoever dies loses what it holds. "
        "Ack after the work, and take few jobs at a time.",
        proof=proof("redelivery", "crash", delivery="deleted", a_dies="before"),
    )


@choose(4, 13)
def only_one_try() -> Choose:
    clock, queue = new_queue(max_attempts=1, visibility_ms=30_000)
    queue.enqueue("charge", {})
    starts = 0
    for _ in range(2):
        starts += queue.claim() is not None
        clock.advance(30_000)
    return Choose(
        prompt="max_attempts is 1, and the lesson's queue checks it when a failure is reported. "
        "The lease is 30 s. Worker A claims a job at t=0 and is still busy at t=30 s, when worker B asks for a job. "
        "How often does the handler start?",
        right=(f"{starts} times: B gets the same job", "The limit is looked at in fail(), and nobody has called it."),
        wrong=[
            (
                "1 time: one try means at most once",
                "It limits what follows a failure, not what follows the end of a lease.",
            ),
            ("1 time: B waits until A is done", "The lease is over, so for the queue nobody has the job."),
            ("1 time: the job is a dead letter at 30 s", "So it is in a queue that checks the limit at the claim."),
        ],
        explanation="A limit of one is no promise of at most once. For that the ack has to come before the work, "
        "and then a crash loses the job.",
        proof=proof("job-queue", "claim", nth=2, ops="enqueue claim.A advance.30000 claim.B", max_attempts=1),
    )


@choose(4, 14)
def at_most_once_is_fine() -> Choose:
    return Choose(
        prompt="At most once: no repeats, but a crash loses the job. For which of these is that good enough?",
        right=(
            "Refreshing “customers online now” on a dashboard",
            "A lost refresh is put right by the next one, seconds later.",
        ),
        wrong=[
            (
                "Crediting ₦5,000 to the wallet of a seller after the sale",
                "No double credit, but a crash would lose the money owed.",
            ),
            ("E-mailing a link to reset a password", "Without it the user is locked out. Two links do no harm."),
            ("Telling the warehouse to pick an order", "A repeat is bad, but a lost one is a customer without parcel."),
        ],
        explanation="At most once is not the safe setting. It trades repeats for losses. "
        "Where a loss hurts, take at least once and an idempotent consumer.",
        proof=proof("redelivery", "print", "receipts sent", delivery="deleted", a_dies="before"),
    )


@choose(4, 15)
def unique_ids() -> Choose:
    return Choose(
        prompt="Every job has a unique id, and the queue refuses a second job with the same id. "
        "Does that keep a job from being run twice?",
        right=(
            "No: a redelivery is the same job, with the same id.",
            "Uniqueness looks at enqueue. A redelivery happens at claim.",
        ),
        wrong=[
            (
                "Yes: each id is one job, and each job is run once.",
                "One id is one job. A job can be claimed more than once.",
            ),
            (
                "Yes, as long as no id is ever used for a second job.",
                "It is not a new job that runs twice, but the old one.",
            ),
            (
                "No: the redelivery gets a new id from the queue.",
                "It keeps its id. That is what a consumer can know it by.",
            ),
        ],
        explanation="The id stops repeats of the producer. "
        "Repeats of the queue can only be noticed by the consumer, by that same id.",
        proof=proof("redelivery", "claim", "job-1", nth=2),
    )


@choose(4, 16)
def id_is_free_again(chance: Random) -> Choose:
    acked_at_ms = chance.randrange(5_000, 58_000, 1_000)
    clock = ManualClock()
    queue = HardenedQueue(clock, QueueOptions(5, 60_000, lambda attempt: 1_000))
    remember_ms = queue.remember_ms
    queue.enqueue("send-receipt", {}, "order-7")
    job = queue.claim()
    assert job is not None
    clock.advance(acked_at_ms)
    queue.ack(job.receipt)
    while queue.pending == 0:
        clock.advance(1_000)
        queue.enqueue("send-receipt", {}, "order-7")
    again = "enqueue.receipt.order-7"
    session = f"{again} claim.A advance.{acked_at_ms} ack.A advance.{remember_ms - 1} {again} advance.1 {again}"
    return Choose(
        prompt=f"The hardened queue remembers the id of a job for {s(remember_ms)} after its ack. "
        f"The job order-7 is enqueued and claimed at t=0, and acked at t={s(acked_at_ms)}. "
        "From when on does an enqueue with the id order-7 make a new job?",
        right=(f"t={s(clock.now())}", "The queue remembers the id from the ack on, and at this time it forgets it."),
        wrong=[
            (
                "never: the id is known",
                "This queue forgets an id after a stated time. Look up that time for each library.",
            ),
            (f"t={s(remember_ms)}", "The time runs from the ack, not from the enqueue."),
            (f"t={s(acked_at_ms)}", "So it is in the lesson's queue: it forgets an id with the ack."),
            ("at once: it replaces the old job", "A repeat of a known id changes nothing."),
        ],
        explanation="While an id is known, a repeat is ignored without a word. Later the same id is a new job. "
        "So name the event (order-7-v2), not the thing, and know how long ids are remembered.",
        proof=proof("job-queue", "enqueue", nth=-1, ops=session, queue="hardened", visibility_ms=60_000),
    )


@choose(4, 22)
def redelivered_flag() -> Choose:
    return Choose(
        prompt="A message arrives with the flag “redelivered”. What does your consumer know now?",
        right=(
            "Somebody was given it before. It may be done, or not.",
            "The flag tells about the delivery and nothing about the work.",
        ),
        wrong=[
            (
                "It was done before, so this second delivery can be skipped.",
                "If the first worker died before the work, the job would be lost.",
            ),
            (
                "It failed before, so the work must be done now.",
                "If the first worker died before its ack, the work would be done twice.",
            ),
            (
                "The producer sent it twice, as two messages.",
                "Then there would be two messages. This is one, handed out again.",
            ),
        ],
        explanation="Decide by what you have stored yourself: is this message's id among the processed ones?",
        proof=proof("idempotent-consumer", "sql", "the row is there already"),
    )


@choose(4)
def points_of_the_naive(chance: Random) -> Choose:
    deliveries = chance.randrange(2, 6)
    amount_kobo = chance.randrange(150_000, 4_000_000, 2_500)
    amount_kobo += 2_500 if amount_kobo % 10_000 == 0 else 0
    run = Run("idempotent-consumer", deliveries=deliveries, amount_kobo=amount_kobo)
    naive, careful = (row[1] for row in run.end.tables[0].rows)
    once = points_for(amount_kobo)
    return Choose(
        prompt=f"An order of {amount_kobo:,} kobo is paid. Each full 10,000 kobo is one point. "
        f"The message is delivered {deliveries} times. A naive consumer adds the points each time, "
        "an idempotent one knows the message by its id. How many points does each of them give?",
        right=(f"naive {naive}, idempotent {careful}", "The naive one adds at every delivery."),
        wrong=[
            (f"naive {once}, idempotent {once}", "One message, but it is delivered more than once."),
            (f"naive {naive}, idempotent {naive}", "The second mark is refused, so the rest is skipped."),
            (f"naive {(once + 1) * deliveries}, idempotent {once + 1}", "A part of 10,000 kobo is no point."),
            (f"naive {naive}, idempotent 0", "The first delivery is not a repeat."),
        ],
        explanation=f"{amount_kobo:,} kobo are {once} points. The naive consumer gives them {deliveries} times. "
        "The idempotent one marks the message and adds the points in one transaction, once.",
        proof=run.at(run.recording.steps[-1]),
    )


@choose(4)
def crash_between_mark_and_points(chance: Random) -> Choose:
    order = chance.choice(["together", "mark-last", "mark-first"])
    deliveries, amount_kobo = chance.randrange(3, 6), chance.randrange(500_000, 3_000_000, 10_000)
    once = points_for(amount_kobo)
    run = Run("idempotent-consumer", order=order, deliveries=deliveries, amount_kobo=amount_kobo, crash="between")
    points = run.end.tables[0].rows[1][1]
    writes = {
        "together": "writes the mark and the points in one transaction",
        "mark-last": "adds the points first and writes the mark after it, in two steps",
        "mark-first": "writes the mark first and adds the points after it, in two steps",
    }
    why = {
        "together": "The crash undoes the first half, and the next delivery does it all.",
        "mark-last": "The points are saved without the mark, so the next delivery adds them again.",
        "mark-first": "The mark is saved without the points, so each further delivery is skipped.",
    }
    return Choose(
        prompt=f"A consumer {writes[order]}. A message is worth {once} points and is delivered {deliveries} times. "
        "At the first delivery the consumer crashes between the two writes. How many points are there in the end?",
        right=(str(points), why[order]),
        wrong=[
            (str(once), "So it would be if both writes were one transaction."),
            (str(2 * once), "For that the points must be saved, and the mark must be missing."),
            ("0", "For that the mark must be saved, and the points must be missing."),
            (str(deliveries * once), "As soon as one mark is saved, every repeat is noticed."),
        ],
        explanation="Two steps always leave a gap. In one order the gap pays twice, in the other it never pays. "
        "In one transaction both are there, or neither is.",
        proof=run.at(run.find("crash")),
    )


@choose(4, 21)
def exactly_once_in_a_log() -> Choose:
    return Choose(
        prompt="“Kafka has exactly-once, so my consumer sends each e-mail once.” What is wrong with that?",
        right=(
            "Its guarantee ends at Kafka. The e-mail is outside.",
            "Reads and writes of Kafka can be one transaction. A mail provider takes no part in it.",
        ),
        wrong=[
            ("Nothing: exactly-once covers the consumer's effects", "It covers what the consumer writes into Kafka."),
            ("Kafka has no such guarantee at all", "It has, for work that begins and ends in Kafka."),
            ("It is true, but only with one partition", "Partitions are about order, not about e-mails."),
        ],
        explanation="An effect in another system needs its own protection: "
        "the message's id, stored with the effect or given to the provider as an idempotency key.",
        proof=proof("redelivery", "effect", nth=2),
    )


@predict(4)
def delivered_three_times(chance: Random) -> Predict:
    return Predict(
        program=fill(
            """
import sqlite3

from lessons.reference.idempotent_consumer import SCHEMA, OrderPaid, idempotent_credit, naive_credit

db = sqlite3.connect(":memory:", isolation_level=None)
db.executescript(SCHEMA)
db.execute("INSERT INTO loyalty VALUES (7, 0), (8, 0)")

for delivery in range($deliveries):
    naive_credit(db, OrderPaid("order-1001-paid-7", 7, amount_kobo=$amount_kobo))
    print(idempotent_credit(db, OrderPaid("order-1001-paid-8", 8, amount_kobo=$amount_kobo), now_ms=0))

# One point for each full 10_000 kobo.
print(db.execute("SELECT customer_id, points FROM loyalty").fetchall())
db.close()
""",
            deliveries=chance.choice([2, 3]),
            amount_kobo=chance.randrange(100_000, 900_000, 5_000),
        ),
        explanation="Customer 7's points are added at every delivery. For customer 8 the primary key lets one delivery "
        "write its mark, and the others skip.",
        proof=proof("idempotent-consumer", "print", "customer_id", nth=-1),
    )


@predict(4)
def ack_after_the_lease(chance: Random) -> Predict:
    lease_ms = chance.choice([20_000, 30_000, 40_000])
    return Predict(
        program=fill(
            """
from lessons.reference.clock import ManualClock
from lessons.reference.hardened_queue import HardenedQueue
from lessons.reference.job_queue import JobQueue, QueueOptions

for Queue in [JobQueue, HardenedQueue]:
    clock = ManualClock()
    queue = Queue(clock, QueueOptions(5, visibility_ms=$lease_ms, backoff=lambda attempt: 1_000))
    queue.enqueue("send-receipt", {"order_id": 1001})
    a = queue.claim()       # worker A works on it for too long
    clock.advance($lease_ms)
    b = queue.claim()       # worker B gets it, too
    print(queue.ack(a.receipt), queue.pending)
    print(queue.ack(b.receipt), queue.pending)
""",
            lease_ms=lease_ms,
        ),
        explanation="In the lesson's queue a receipt is just the job's id, "
        "so A's late ack removes the job that B works on. "
        "The hardened queue gives each claim its own receipt: A's is lost, and B's counts.",
        proof=proof("redelivery", "lost", queue="hardened", a_dies="never", work_ms=40_000),
    )


@predict(4, 16)
def when_an_id_is_known() -> Predict:
    return Predict(
        program=fill(
            """
from lessons.reference.clock import ManualClock
from lessons.reference.hardened_queue import HardenedQueue
from lessons.reference.job_queue import JobQueue, QueueOptions

for Queue in [JobQueue, HardenedQueue]:
    queue = Queue(ManualClock(), QueueOptions(5, visibility_ms=30_000, backoff=lambda attempt: 1_000))
    queue.enqueue("send-receipt", {"order_id": 7}, id="order-7")
    queue.enqueue("send-receipt", {"order_id": 7}, id="order-7")
    print("twice:", queue.pending)
    queue.ack(queue.claim().receipt)
    queue.enqueue("send-receipt", {"order_id": 7}, id="order-7")
    print("after the ack:", queue.pending)
"""
        ),
        explanation="Both ignore a repeat while the job is in the queue. "
        "The lesson's queue forgets the id with the ack, the hardened one remembers it for 5 minutes.",
        proof=proof("fan-out", "enqueue", publish_when_done=True, nth=4),
    )


@write(4, 15)
def handle_once() -> Write:
    return Write(
        prompt="Write `handle(message, processed, send)`. `message` is a dict with `id` and `phone`, "
        '`processed` a set of ids. Send to the phone only if the id is new, and return `"sent"`; '
        'else return `"duplicate, skipped"`. Record the id **after** `send(phone)`: if that raises, the message '
        "must not count as processed.",
        starter="""def handle(message, processed, send):
    send(message["phone"])
    return "sent"
""",
        solution="""def handle(message, processed, send):
    if message["id"] in processed:
        return "duplicate, skipped"
    send(message["phone"])
    processed.add(message["id"])
    return "sent"
""",
        check="""def check(namespace):
    handle = wanted(namespace, "handle")
    processed, sent = set(), []
    message = {"id": "order-1001-shipped", "phone": "+2348031234567"}
    answers = [called(handle, message, processed, sent.append) for _ in range(3)]
    if len(sent) != 1:
        raise AssertionError(f"Delivered 3 times, the message should be sent once. It was sent {len(sent)} times.")
    if sent != [message["phone"]]:
        raise AssertionError(f"The message should be sent to its phone, not to {sent[0]!r}.")
    if answers != ["sent", "duplicate, skipped", "duplicate, skipped"]:
        raise AssertionError(f"The answers were {answers}.")
    called(handle, {"id": "order-1002-shipped", "phone": "+2348031234567"}, processed, sent.append)
    if len(sent) != 2:
        raise AssertionError("Another message to the same phone has another id. It should be sent.")

    def down(phone):
        raise ConnectionError("503")

    failed = {"id": "order-1003-shipped", "phone": "+2348030000000"}
    try:
        handle(failed, processed, down)
    except ConnectionError:
        pass
    if called(handle, failed, processed, sent.append) != "sent":
        raise AssertionError("When send raises, the next delivery should send. Record the id after send.")
""",
        explanation="The id decides, not the phone and not the text. Noted after the send, a crash in between leads to "
        "a second message. Noted before it, to none at all. A rare repeat is the lesser harm.",
        proof=proof("idempotent-consumer", "sql", "the row is there already"),
    )


@write(4)
def credit_once() -> Write:
    return Write(
        prompt="Write `credit_once(db, message_id, customer_id, points)`. The tables are "
        "`loyalty (customer_id, points)` and `processed (message_id TEXT PRIMARY KEY)`. "
        "Add the points unless the message was processed, and mark it, all in one transaction. "
        "`with transaction(db):` is there for you: if the block raises, nothing of it happened. "
        "A customer without an account is an error: raise `LookupError`, and leave no mark.",
        starter="""from lessons.reference.database import transaction


def credit_once(db, message_id, customer_id, points):
    db.execute("INSERT INTO processed VALUES (?) ON CONFLICT DO NOTHING", (message_id,))
    db.execute("UPDATE loyalty SET points = points + ? WHERE customer_id = ?", (points, customer_id))
""",
        solution="""from lessons.reference.database import transaction


def credit_once(db, message_id, customer_id, points):
    with transaction(db):
        marked = db.execute("INSERT INTO processed VALUES (?) ON CONFLICT DO NOTHING", (message_id,))
        if marked.rowcount == 0:
            return
        updated = db.execute("UPDATE loyalty SET points = points + ? WHERE customer_id = ?", (points, customer_id))
        if updated.rowcount == 0:
            raise LookupError(f"no account for customer {customer_id}")
""",
        check="""import sqlite3


def check(namespace):
    credit_once = wanted(namespace, "credit_once")
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        look(db, credit_once)
    finally:
        db.close()


def look(db, credit_once):
    db.execute("CREATE TABLE loyalty (customer_id INTEGER PRIMARY KEY, points INTEGER NOT NULL)")
    db.execute("CREATE TABLE processed (message_id TEXT PRIMARY KEY)")
    db.execute("INSERT INTO loyalty VALUES (8, 0)")

    def points():
        return db.execute("SELECT points FROM loyalty WHERE customer_id = 8").fetchone()[0]

    for _ in range(3):
        called(credit_once, db, "paid-1", 8, 204)
    if points() != 204:
        raise AssertionError(f"Delivered 3 times, 204 points should be 204. There are {points()}.")
    called(credit_once, db, "paid-2", 8, 10)
    if points() != 214:
        raise AssertionError(f"Another message is worth its own points. There are {points()}, not 214.")
    try:
        credit_once(db, "paid-3", 9, 50)
    except LookupError:
        pass
    else:
        raise AssertionError("Customer 9 has no account. That should be a LookupError.")
    if db.in_transaction:
        raise AssertionError("A transaction is still open. Leave its block.")
    if db.execute("SELECT count(*) FROM processed WHERE message_id = 'paid-3'").fetchone()[0]:
        raise AssertionError("paid-3 was not credited, but it is marked as processed. Do both in one transaction.")
""",
        explanation="The primary key lets one delivery write the mark. The mark and the points are one transaction, "
        "so an error takes the mark back, and a later delivery can still credit.",
        proof=proof("idempotent-consumer", "sql", "commits"),
    )


@write(4)
def idempotency_key() -> Write:
    return Write(
        prompt="An SMS cannot be in your transaction. But the provider ignores a call whose `key` it has seen. "
        "Write `on_shipped(message, provider)`: call `provider.send(phone, text, key)` with the text "
        '`"Order <order_id> is on its way"`, so that redeliveries of a message send one SMS, '
        "and two messages send two. `message` is a dict with `id`, `phone` and `order_id`.",
        starter="""def on_shipped(message, provider):
    text = f"Order {message['order_id']} is on its way"
    provider.send(message["phone"], text, key=message["phone"])
""",
        solution="""def on_shipped(message, provider):
    text = f"Order {message['order_id']} is on its way"
    provider.send(message["phone"], text, key=message["id"])
""",
        check="""class Provider:
    def __init__(self):
        self.keys, self.sent = set(), []

    def send(self, phone, text, key):
        if key not in self.keys:
            self.keys.add(key)
            self.sent.append((phone, text))


def check(namespace):
    on_shipped = wanted(namespace, "on_shipped")
    provider, phone = Provider(), "+2348031234567"
    for order_id in (1001, 1002):
        for _ in range(3):
            called(on_shipped, {"id": f"order-{order_id}-shipped", "phone": phone, "order_id": order_id}, provider)
    expected = [(phone, f"Order {order_id} is on its way") for order_id in (1001, 1002)]
    if len(provider.sent) > 2:
        raise AssertionError(
            f"Two messages, delivered 3 times each, sent {len(provider.sent)} SMS. "
            "At each delivery of a message the key must be the same."
        )
    if len(provider.sent) < 2:
        raise AssertionError(
            "Two messages to the same phone should be two SMS. "
            f"{len(provider.sent)} went out: they need different keys."
        )
    if provider.sent != expected:
        raise AssertionError(f"The provider sent {provider.sent}, not {expected}.")
""",
        explanation="The message's id is the same at each redelivery and different for each message. "
        "That is what a key needs. A phone number is too coarse, a random key too fine.",
        proof=proof("redelivery", "effect", nth=2),
    )
