"""Objective 6: one event for several queues, and order."""

from itertools import permutations
from random import Random

from lessons.quiz.making import (
    Choose,
    Predict,
    Run,
    Write,
    by_hand,
    choose,
    counted,
    fill,
    finished,
    new_queue,
    predict,
    proof,
    s,
    write,
)


@choose(6, 9)
def two_readers_of_one_queue(chance: Random) -> Choose:
    events = chance.randrange(4, 21, 2)
    _, queue = new_queue()
    for _ in range(events):
        queue.enqueue("order-paid", {})
    got = {"e-mail": 0, "warehouse": 0}
    while queue.pending:
        for reader in got:
            if job := queue.claim():
                queue.ack(job.receipt)
                got[reader] += 1
    mail, picks = got.values()

    def told(receipts: int, picks: int) -> str:
        return f"{counted(receipts, 'receipt')}, {counted(picks, 'pick')}"

    return Choose(
        prompt=f"{events} “order paid” messages are in one queue. "
        "An e-mail consumer and a warehouse consumer read from it, taking turns. "
        "The first sends a receipt for each message that it gets, the other picks the items. "
        "How many receipts and picks are there?",
        right=(told(mail, picks), "Consumers of one queue share its messages: each message goes to one of them."),
        wrong=[
            (told(events, events), "For that each of them needs a queue of its own."),
            (told(events, 0), "Neither is first for ever: they take turns."),
            (told(events // 2, events), "No message is copied for the second reader."),
        ],
        explanation="One queue divides the work. To let both see each event, copy it into a queue for each: fan-out.",
        proof=proof("fan-out", "enqueue", "warehouse"),
    )


@choose(6)
def one_job_for_all(chance: Random) -> Choose:
    failures = chance.randrange(1, 5)
    run = Run("fan-out", layout="one-job", failing="loyalty", failures=failures)
    receipts = len(run.effects("mail provider"))
    return Choose(
        prompt="One job sends the receipt, then tells the warehouse, then credits loyalty points. "
        f"If a step fails, the whole job is tried again. Loyalty fails {failures} time{'s' if failures > 1 else ''} "
        "and then works. How many receipts does the customer get?",
        right=(counted(receipts, "receipt"), "Each attempt begins at the top, with the e-mail."),
        wrong=[
            (counted(1, "receipt"), "The e-mail worked at once, but the job does not know that when it begins again."),
            (counted(failures, "receipt"), "The attempt that works sends a receipt, too."),
            (counted(failures + 2, "receipt"), "One for each failed attempt, and one for the last: no more."),
            ("5 receipts", "The job stops when loyalty works. It does not use up all attempts."),
            ("0 receipts", "The e-mail comes before the step that fails."),
        ],
        explanation="A retry repeats all that the job does. "
        "With a queue for each subscriber, only the part that failed is tried again.",
        proof=run.at(run.find("effect", "receipt", nth=-1)),
    )


@choose(6)
def a_queue_for_each(chance: Random) -> Choose:
    failures = chance.randrange(1, 5)
    run = Run("fan-out", failing="loyalty", failures=failures)
    receipts, credit_ms = len(run.effects("mail provider")), run.effects("loyalty accounts")[0]

    def told(receipts: int, credit_ms: int) -> str:
        return f"{counted(receipts, 'receipt')}, points at t={s(credit_ms)}"

    return Choose(
        prompt="E-mail, warehouse and loyalty have a queue each. The backoff is 1 s, 2 s, 4 s, 8 s. "
        f"An order is paid at t=0. Loyalty fails {failures} time{'s' if failures > 1 else ''} and then works. "
        "How many receipts are sent, and when are the points credited?",
        right=(told(receipts, credit_ms), "The e-mail job is done at t=0. Only loyalty's job is tried again."),
        wrong=[
            (told(failures + 1, credit_ms), "So it is if one job does all three."),
            (told(1, 0), "Loyalty's own retries take their time."),
            (told(1, failures * 1_000), "The pauses double."),
            (told(1, 2 ** (failures - 1) * 1_000), "That is the last pause alone. They add up."),
            (told(1, (2 ** (failures + 1) - 1) * 1_000), "One pause too many."),
        ],
        explanation="Each subscriber fails, waits and tries again by itself. The others do not even notice.",
        proof=run.at(run.find("effect", "204 points")),
    )


@choose(6)
def slow_warehouse(chance: Random) -> Choose:
    orders, warehouse_ms = chance.randrange(2, 6), chance.choice([10_000, 20_000, 30_000])
    run = Run("fan-out", orders=orders, warehouse_ms=warehouse_ms, publishes=1)
    last_receipt_ms, last_pick_ms = run.effects("mail provider")[-1], run.effects("warehouse")[-1]

    def told(receipt_ms: int, pick_ms: int) -> str:
        return f"receipt at t={s(receipt_ms)}, pick at t={s(pick_ms)}"

    return Choose(
        prompt=f"{orders} orders are paid at t=0. E-mail and warehouse have a queue and one worker each. "
        f"A receipt takes no time, a pick takes {s(warehouse_ms)}. When is the last receipt sent, "
        "and when is the last pick done?",
        right=(told(last_receipt_ms, last_pick_ms), "The e-mail queue does not wait for the warehouse."),
        wrong=[
            (told(last_pick_ms, last_pick_ms), "That would be one queue for both."),
            (
                told(last_pick_ms - warehouse_ms, last_pick_ms),
                "The last receipt does not wait for any pick.",
            ),
            (told(0, warehouse_ms), "One worker does the picks one after the other."),
            (told(0, last_pick_ms + warehouse_ms), "The first pick begins at t=0, not one pick later."),
        ],
        explanation="With a queue for each subscriber, a slow one delays only itself.",
        proof=run.at(run.find("effect", "receipt", nth=-1)),
    )


@choose(6, 5)
def who_finishes_first(chance: Random) -> Choose:
    tenths = chance.choice([(9, 2, 3), (8, 4, 2), (6, 3, 2), (9, 3, 7), (5, 2, 6), (3, 5, 1), (2, 9, 4)])
    durations_ms = [100 * tenth for tenth in tenths]
    order = [id for id, _ in finished(durations_ms, workers=2)]
    shortest_first = sorted(["job-1", "job-2", "job-3"], key=lambda id: durations_ms[int(id[-1]) - 1])

    def told(ids: list[str]) -> str:
        return ", ".join(ids)

    wrong = [
        (told(["job-1", "job-2", "job-3"]), "First in, first out is about who starts. It does not say who ends first."),
        (told(shortest_first), "Only two can run at a time. The third starts when a worker is free."),
        *((told(list(ids)), "Follow both workers: which one is free first?") for ids in permutations(order)),
    ]
    took = ", ".join(f"job-{number} takes {ms} ms" for number, ms in enumerate(durations_ms, start=1))
    return Choose(
        prompt=f"Two workers, three jobs in a first-in, first-out queue: {took}. In which order are they done?",
        right=(told(order), "Each worker takes the next job when it is free."),
        wrong=wrong,
        explanation="A queue decides who starts first. How long the work takes, how many workers there are, "
        "and retries decide who is done first.",
        proof=proof("job-queue", "ack", nth=-1, ops=by_hand(durations_ms), visibility_ms=3_600_000),
    )


@choose(6)
def copies_in_a_queue(chance: Random) -> Choose:
    publishes, orders = chance.randrange(2, 6), chance.randrange(2, 6)
    run = Run("fan-out", publishes=publishes, orders=orders)
    printed = run.find("print", "email:")
    waiting = int((printed.printed or "").split()[1])
    return Choose(
        prompt=f"{orders} orders are paid. The checkout publishes each event {publishes} times. "
        "A copy's job id is made of the event's id and the subscriber's name, like order-1001-paid:email. "
        "No worker has begun. How many jobs wait in the e-mail queue?",
        right=(str(waiting), "One for each event: a repeat has the same id, and is ignored."),
        wrong=[
            (str(orders * publishes), "So it would be if each copy had an id of its own."),
            (str(orders * 3), "The other subscribers' copies are in their own queues."),
            (str(publishes), "The repeats are ignored. The events are what counts."),
            ("1", "The events have different ids."),
        ],
        explanation="An id that follows from the event is the same at each publish. "
        "That makes publishing safe to repeat, as long as the queue knows the id.",
        proof=run.at(printed),
    )


@choose(6, 16)
def published_once_more(chance: Random) -> Choose:
    hardened = chance.choice([True, False])
    run = Run("fan-out", publish_when_done=True, queue="hardened" if hardened else "lesson")
    receipts = len(run.effects("mail provider"))
    return Choose(
        prompt="An event is published, and all its jobs are done. Right after that the checkout publishes "
        "the event again, with the same ids. "
        + (
            "The queues remember an id for 5 minutes after its ack. "
            if hardened
            else "The queues forget an id with its ack. "
        )
        + "How many receipts has the customer got in the end?",
        right=(
            counted(receipts, "receipt"),
            "The id is still known, so the repeat is ignored." if hardened else "The id is unknown again: a new job.",
        ),
        wrong=[
            ("1 receipt", "The same id helps only while the queue knows it."),
            ("2 receipts", "A known id makes no second job."),
            ("3 receipts", "There are three subscribers, but only one of them sends receipts."),
            ("0 receipts", "The first publish is no repeat."),
        ],
        explanation="How long an id is remembered decides what a late repeat does. "
        "A consumer that notices repeats itself is safe either way.",
        proof=run.at(run.find("ignored" if hardened else "enqueue", "order-1001-paid:email", nth=-1)),
    )


@predict(6)
def derived_ids(chance: Random) -> Predict:
    return Predict(
        program=fill(
            """
from lessons.reference.clock import ManualClock
from lessons.reference.fan_out import Subscriber, publish
from lessons.reference.job_queue import JobQueue, QueueOptions

options = QueueOptions(5, visibility_ms=30_000, backoff=lambda attempt: 1_000)
email, warehouse = (JobQueue(ManualClock(), options) for _ in range(2))
subscribers = [Subscriber("email", "send-receipt", email), Subscriber("warehouse", "pick-items", warehouse)]

print(publish("order-$first-paid", {}, subscribers))
email.ack(email.claim().receipt)
publish("order-$first-paid", {}, subscribers)
publish("order-$second-paid", {}, subscribers)
print(email.pending, warehouse.pending)
""",
            first=f"{(first := chance.randrange(1001, 1090))}",
            second=f"{first + 1}",
        ),
        explanation="Each copy's id is the event's id and the subscriber's name. The e-mail job of the first event was "
        "done, so this queue had forgotten its id. The warehouse's job was still there, and its repeat was ignored.",
        proof=proof("fan-out", "enqueue", "order-1001-paid:email", publish_when_done=True, nth=-1),
    )


@predict(6)
def older_update_last(chance: Random) -> Predict:
    first, second = chance.choice([("paid", "shipped"), ("packed", "sent"), ("open", "closed")])
    return Predict(
        program=fill(
            """
from lessons.reference.clock import ManualClock
from lessons.reference.job_queue import JobQueue, QueueOptions
from lessons.reference.worker import Worker

clock = ManualClock()
queue = JobQueue(clock, QueueOptions(5, visibility_ms=30_000, backoff=lambda attempt: 1_000))
queue.enqueue("set-status", {"version": 1, "status": "$first"})
queue.enqueue("set-status", {"version": 2, "status": "$second"})
naive, careful = {}, {"version": 0}

def set_status(job):
    if clock.now() == 0 and job.payload["version"] == 1:
        raise ConnectionError("503")
    print("version", job.payload["version"])
    naive.update(job.payload)
    if job.payload["version"] > careful["version"]:
        careful.update(job.payload)

worker = Worker(queue, {"set-status": set_status}, clock, log=lambda line: None)
worker.drain()
clock.advance(1_000)
worker.drain()
print(naive["status"], careful["status"])
""",
            first=first,
            second=second,
        ),
        explanation="The first update fails and is tried again a second later, when the second one is done. "
        "Without a look at the version, the older status wins.",
        proof=proof(
            "fan-out", "effect", "order 1001 picked", orders=3, failing="warehouse", failures=1, warehouse_ms=5_000
        ),
    )


@predict(6, 5)
def who_is_due_first(chance: Random) -> Predict:
    return Predict(
        program=fill(
            """
from lessons.reference.clock import ManualClock
from lessons.reference.job_queue import JobQueue, QueueOptions

clock = ManualClock()
queue = JobQueue(clock, QueueOptions(5, visibility_ms=30_000, backoff=lambda attempt: $pause_ms))
for id in ["a", "b"]:
    queue.enqueue("work", {}, id)

job = queue.claim()
print(job.id, queue.fail(job.receipt, "503"))
clock.advance($early_ms)
queue.enqueue("work", {}, "c")
print(queue.claim().id)
clock.advance($late_ms)
print(queue.claim().id)
print(queue.claim().id)
""",
            pause_ms=(pause_ms := chance.choice([2_000, 4_000, 10_000])),
            early_ms=pause_ms // 2,
            late_ms=pause_ms // 2,
        ),
        explanation="While `a` waits for its retry, `b` overtakes it. When `a` is due again it overtakes `c`, "
        "since this queue hands out due jobs in the order in which they were enqueued.",
        proof=proof(
            "job-queue", "claim", "job-1", nth=2, ops="enqueue claim.A fail.A enqueue.invoice advance.1000 claim.B"
        ),
    )


@write(6)
def newer_only() -> Write:
    return Write(
        prompt="Write `apply(state, update)`. Both are dicts with `version` and `status`. "
        "Return the new state: the update if its version is higher, else the state as it was. "
        "Change neither of the two dicts.",
        starter="""def apply(state, update):
    return update
""",
        solution="""def apply(state, update):
    return update if update["version"] > state["version"] else state
""",
        check="""def check(namespace):
    apply = wanted(namespace, "apply")
    empty = {"version": 0, "status": "new"}
    paid = {"version": 1, "status": "paid"}
    shipped = {"version": 2, "status": "shipped"}
    for updates in ([paid, shipped], [shipped, paid], [shipped, paid, shipped], [paid, paid, shipped]):
        state = dict(empty)
        for update in updates:
            before, given = dict(state), dict(update)
            result = called(apply, state, given)
            if state != before or given != update:
                raise AssertionError("The function changed one of the dicts that it was given.")
            if not isinstance(result, dict):
                raise AssertionError(f"The function should return the new state, a dict, and not {result!r}.")
            state = result
        if state != shipped:
            versions = [update["version"] for update in updates]
            raise AssertionError(f"Updates in the order {versions} should end in version 2, but gave {state}.")
    again = {"version": 2, "status": "shipped, again"}
    same(shipped, apply, shipped, again)
""",
        explanation="A retry can bring an old update after a newer one. "
        "With a version, an old or repeated update changes nothing, whatever the order.",
        proof=proof(
            "fan-out", "effect", "order 1001 picked", orders=3, failing="warehouse", failures=1, warehouse_ms=5_000
        ),
    )


@write(6)
def ids_of_the_copies() -> Write:
    return Write(
        prompt="Write `fan_out(event_id, payload, queues)`. `queues` is a dict: name of a subscriber -> its queue. "
        'Enqueue one job for each with `queue.enqueue(type, payload, id)`: type `"order-paid"`, '
        "and an id that is the same at every publish of this event and different for each subscriber: "
        "`<event_id>:<name>`. Return the list of ids.",
        starter="""from uuid import uuid4


def fan_out(event_id, payload, queues):
    ids = [str(uuid4()) for _ in queues]
    for id, queue in zip(ids, queues.values()):
        queue.enqueue("order-paid", payload, id)
    return ids
""",
        solution="""def fan_out(event_id, payload, queues):
    return [queue.enqueue("order-paid", payload, f"{event_id}:{name}") for name, queue in queues.items()]
""",
        check="""class Queue:
    def __init__(self):
        self.jobs = {}

    def enqueue(self, type, payload, id):
        self.jobs.setdefault(id, (type, payload))
        return id


def check(namespace):
    fan_out = wanted(namespace, "fan_out")
    queues = {name: Queue() for name in ("email", "warehouse", "loyalty")}
    for event_id in ("order-1001-paid", "order-1001-paid", "order-1002-paid"):
        ids = called(fan_out, event_id, {"amount_kobo": 2_042_500}, queues)
    for name, queue in queues.items():
        if len(queue.jobs) != 2:
            raise AssertionError(
                f"Two events, one of them published twice, should be 2 jobs in the queue {name}, not {len(queue.jobs)}."
            )
        expected = [f"order-{order_id}-paid:{name}" for order_id in (1001, 1002)]
        if list(queue.jobs) != expected:
            raise AssertionError(f"The ids in the queue {name} are {list(queue.jobs)}, not {expected}.")
        if any(job != ("order-paid", {"amount_kobo": 2_042_500}) for job in queue.jobs.values()):
            raise AssertionError(f"A job in the queue {name} has another type or payload.")
    if ids != [f"order-1002-paid:{name}" for name in queues]:
        raise AssertionError(f"fan_out returned {ids}, not the ids of the jobs.")
""",
        explanation="A random id is new at each publish, so no repeat can be noticed. "
        "An id that follows from the event and the subscriber is always the same.",
        proof=proof("fan-out", "ignored"),
    )
