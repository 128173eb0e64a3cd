"""Objective 3: transient errors, permanent errors and poison messages."""

from random import Random

from lessons.quiz.making import (
    Choose,
    Predict,
    Run,
    Write,
    choose,
    counted,
    fill,
    new_queue,
    predict,
    proof,
    s,
    times,
    write,
)
from lessons.reference.clock import ManualClock
from lessons.reference.hardened_queue import HardenedQueue
from lessons.reference.job_queue import QueueOptions


@choose(3)
def which_answer_is_permanent() -> Choose:
    return Choose(
        prompt="A handler calls the API of a mail provider. After which answer is there no use in trying again?",
        right=("400 Bad Request: the address has no @", "The same request gets the same answer for ever."),
        wrong=[
            (
                "429 Too Many Requests: over 10 calls a second",
                "A 4xx, and yet it goes away: try again later, and more slowly.",
            ),
            ("503 Service Unavailable: a restart of the servers", "The provider is down now and will be back."),
            (
                "408 Request Timeout: the request came too slowly",
                "A 4xx, and yet it goes away: the next request may be fast enough.",
            ),
        ],
        explanation="Ask what would have to change. If it is the world (load, network, an outage), the error is "
        "transient. If it is the message itself, it is permanent: off to the dead letters at once.",
        proof=proof("dead-letters", "dead", "permanent"),
    )


@choose(3)
def calls_for_two_bad_jobs(chance: Random) -> Choose:
    most = chance.randrange(2, 6)
    run = Run("dead-letters", max_attempts=most)
    calls = len(run.all("claim"))
    return Choose(
        prompt=f"max_attempts is {most}. Job 1 has an address without an @, and its handler raises "
        "PermanentJobError. Job 2 crashes the PDF renderer every time, an ordinary exception. "
        "How often are the two handlers called together?",
        right=(times(calls), f"Once for the permanent error, and {times(most)} for the other."),
        wrong=[
            (times(2 * most), "The permanent error does not use up its attempts: the first call is the last."),
            (times(calls + 1), "“Retries” are counted so. Attempts count the first try, too."),
            (times(most), "Job 1 is called once as well."),
            (times(2), "An ordinary exception counts as transient, and is tried again."),
        ],
        explanation="The handler knows most about its errors, so it says which are permanent. "
        "The rest is tried again until the limit stops it.",
        proof=run.at(run.find("dead", "job-2")),
    )


@choose(3)
def replayed_and_then(chance: Random) -> Choose:
    replay_at_ms = chance.choice([30_000, 60_000, 120_000, 600_000])
    fixed = chance.choice([True, False])
    run = Run("dead-letters", replay_at_ms=replay_at_ms, renderer_fixed_at_ms=replay_at_ms - 5_000 if fixed else None)
    letters = run.end.queues[0].count("dead")
    whys = {
        0: "A replay repairs nothing by itself. What was wrong with a message is wrong still.",
        1: "The bad address is as bad as before, and the renderer works now.",
        2: "Neither cause is gone, so both fail again.",
        3: "A replay moves the letters. It makes no copies.",
    }
    if fixed:
        whys[2] = "The renderer has been fixed, so its job is done this time."
    else:
        whys[1] = "The bad address fails again at once, and the renderer crashes again, too."
    return Choose(
        prompt="Two dead letters: a receipt for an address without an @, and an invoice that crashed the PDF renderer. "
        + ("The renderer has been fixed, the address has not. " if fixed else "Nobody has changed anything since. ")
        + f"At t={s(replay_at_ms)} an operator replays both. How many dead letters are there in the end?",
        right=(str(letters), whys[letters]),
        wrong=[(str(other), whys[other]) for other in (0, 1, 2, 3) if other != letters],
        explanation="A replay is only a new try. First fix the cause, in the data or in the code. Then replay.",
        proof=run.at(run.find("print", "dead letters:", nth=-1)),
    )


@choose(3)
def job_that_kills_its_worker(chance: Random) -> Choose:
    most, lease_ms = chance.randrange(2, 6), chance.choice([10_000, 20_000, 30_000])
    leases = most + chance.randrange(2, 6)
    clock, queue = new_queue(most, lease_ms)
    queue.enqueue("poison", {})
    deliveries = 0
    for _ in range(leases + 1):
        deliveries += queue.claim() is not None
        if clock.now() < leases * lease_ms:
            clock.advance(lease_ms)
    letters = len(queue.dead)
    session = " ".join(["enqueue", *[f"claim.A crash.A advance.{lease_ms}"] * leases, "claim.A"])

    def outcome(deliveries: int, letters: int) -> str:
        return f"{counted(deliveries, 'delivery', 'deliveries')}, {counted(letters, 'dead letter')}"

    return Choose(
        prompt=f"A queue checks the limit of {most} attempts only in `fail()`, as the lesson's does. "
        f"The lease is {s(lease_ms)}. One job kills its worker at once, every time, and a new worker starts "
        f"and claims as soon as it can. The first claim is at t=0. What has happened up to and including "
        f"t={s(leases * lease_ms)}?",
        right=(outcome(deliveries, letters), "A dead worker calls no fail(), so nobody looks at the limit."),
        wrong=[
            (outcome(most, 1), "The attempts are counted, but the limit is only looked at in fail()."),
            (outcome(deliveries - 1, letters), "The claim at t=0 is a delivery, and so is the one at the last moment."),
            (outcome(1, 0), "A crash does not remove the job: it comes back after each lease."),
            (outcome(1, 1), "The queue does not know that the job killed the worker."),
        ],
        explanation="A crash runs no code of yours. A limit has to be checked where the queue itself acts: "
        "at the claim. The hardened queue does that.",
        proof=proof("job-queue", "claim", nth=-1, ops=session, max_attempts=most, visibility_ms=lease_ms),
    )


@choose(3)
def limit_at_the_claim(chance: Random) -> Choose:
    most, lease_ms = chance.randrange(2, 7), chance.choice([10_000, 20_000, 30_000, 60_000])
    clock = ManualClock()
    queue = HardenedQueue(clock, QueueOptions(most, lease_ms, lambda attempt: 1_000))
    queue.enqueue("poison", {})
    while queue.claim():
        clock.advance(lease_ms)
    dead_at_ms = clock.now()
    session = " ".join(["enqueue", *[f"claim.A crash.A advance.{lease_ms}"] * most, "claim.A"])
    return Choose(
        prompt=f"The hardened queue checks the limit of {most} attempts at the claim. The lease is {s(lease_ms)}. "
        "One job kills its worker at once, every time, and a new worker claims as soon as it can. "
        "The first claim is at t=0. When does the job go to the dead letters?",
        right=(f"t={s(dead_at_ms)}", f"After {most} leases: the claim at their end finds no attempt left."),
        wrong=[
            (f"t={s(dead_at_ms - lease_ms)}", "That is the last delivery. The queue waits for the end of its lease."),
            (f"t={s(dead_at_ms + lease_ms)}", "One lease too many: the first try counts as an attempt."),
            ("never", "So it is when only fail() looks at the limit. Here the claim does."),
            (f"t={s(most * 1_000)}", "The pauses are for reported failures. Here only the leases end."),
        ],
        explanation="Each crash uses up one attempt, since attempts are counted at the claim. "
        "When the last lease is over, the next claim buries the job instead of handing it out.",
        proof=proof("job-queue", "dead", ops=session, queue="hardened", max_attempts=most, visibility_ms=lease_ms),
    )


@choose(3, 25)
def what_dead_letters_are_for() -> Choose:
    return Choose(
        prompt="Twelve jobs are in the dead letters of the lesson's queue. The program runs on, and for four days "
        "nobody does anything. Where are the jobs then?",
        right=(
            "Still in the dead letters",
            "Nothing takes a job out of there but a person, or a person's tool.",
        ),
        wrong=[
            ("Tried again, and mostly done", "It sounds like a place for later tries, but no worker reads from it."),
            (
                "Deleted",
                "This queue never deletes them. A broker may: Amazon SQS does so after 4 days by default.",
            ),
            ("Back in their queue, with a longer pause", "Pauses are for jobs that have attempts left."),
        ],
        explanation="Dead letters are an inbox for people. Raise an alarm as long as there are any, "
        "fix the cause, then replay.",
        proof=proof("dead-letters", "print", "dead letters:", nth=-1),
    )


@choose(3)
def retries_inside_retries(chance: Random) -> Choose:
    most, tries = chance.choice([(3, 4), (4, 3), (5, 3), (3, 2), (5, 2), (4, 5)])
    clock, queue = new_queue(most)
    queue.enqueue("send-sms", {})
    calls = 0
    while queue.pending:
        if job := queue.claim():
            calls += tries  # all of them fail
            queue.fail(job.receipt, "429")
        clock.advance(1_000)
    return Choose(
        prompt=f"max_attempts is {most}. The handler uses a client library that makes {tries} tries by itself "
        "before it raises. The provider answers each call with 429. How many calls does the provider get for one job?",
        right=(str(calls), "Each attempt of the queue makes all the tries of the library."),
        wrong=[
            (str(most), "That is how often the handler runs. Each run makes more than one call."),
            (str(most + tries), "The two do not add up: they are one inside the other."),
            (str(most * tries - 1), "No call is left out: the last one fails, too."),
            (str(most * (tries + 1)), "A try is a call. There is no extra one in front of the tries."),
            (str(tries), "That is one run of the handler. The queue starts it again."),
        ],
        explanation=f"{most} × {tries} = {calls}, and the provider asked for fewer calls. "
        "Try again in one layer only. The queue is the better one: it waits without holding a worker.",
        proof=proof("dead-letters", "dead", "job-2", max_attempts=most),
    )


@predict(3)
def two_kinds_of_failure(chance: Random) -> Predict:
    return Predict(
        program=fill(
            """
from lessons.reference.clock import ManualClock
from lessons.reference.job_queue import JobQueue, QueueOptions

clock = ManualClock()
queue = JobQueue(clock, QueueOptions(max_attempts=$most, visibility_ms=30_000, backoff=lambda attempt: 1_000))
queue.enqueue("send-receipt", {"email": "bola.example.com"}, id="receipt")
queue.enqueue("render-invoice", {"order_id": 1003}, id="invoice")

while queue.pending:
    while job := queue.claim():
        permanent = job.type == "send-receipt"
        print(job.id, queue.fail(job.receipt, "boom", permanent))
    clock.advance(1_000)

print([(job.id, job.attempts) for job in queue.dead])
""",
            most=chance.randrange(2, 5),
        ),
        explanation="A permanent failure is dead at once, whatever the limit. "
        "The other one is a retry until the last attempt fails.",
        proof=proof("dead-letters", "dead", "permanent"),
    )


@predict(3)
def crash_uses_up_an_attempt(chance: Random) -> Predict:
    return Predict(
        program=fill(
            """
from lessons.reference.clock import ManualClock
from lessons.reference.job_queue import JobQueue, QueueOptions

clock = ManualClock()
queue = JobQueue(clock, QueueOptions(max_attempts=$most, visibility_ms=30_000, backoff=lambda attempt: 1_000))
queue.enqueue("render-invoice", {"order_id": 1003})

for crash in range($crashes):
    job = queue.claim()  # and the worker dies
    clock.advance(30_000)

job = queue.claim()
print("attempt", job.attempts)
print(queue.fail(job.receipt, "template error"))
print("pending", queue.pending)
""",
            most=chance.choice([3, 4]),
            crashes=chance.choice([2, 3]),
        ),
        explanation="Attempts are counted at the claim. "
        "So the crashes count as well, although nobody called `fail` for them.",
        proof=proof("redelivery", "claim", "attempt 2", a_dies="before"),
    )


@predict(3, 25)
def new_budget(chance: Random) -> Predict:
    return Predict(
        program=fill(
            """
from lessons.reference.clock import ManualClock
from lessons.reference.hardened_queue import HardenedQueue
from lessons.reference.job_queue import QueueOptions

clock = ManualClock()
queue = HardenedQueue(clock, QueueOptions($most, visibility_ms=30_000, backoff=lambda attempt: 1_000))
queue.enqueue("render-invoice", {"order_id": 1003}, id="invoice")

def fail_once():
    job = queue.claim()
    print(job.attempts, queue.fail(job.receipt, "template error"))
    clock.advance(1_000)

for _ in range($most):
    fail_once()
clock.advance(600_000)
print(queue.claim(), len(queue.dead))
print(queue.replay("invoice"))
fail_once()
""",
            most=chance.choice([2, 3]),
        ),
        explanation="A dead letter waits for a person, not for a time. "
        "A replay gives it a new budget: it begins again at attempt 1.",
        proof=proof("dead-letters", "replay", queue="hardened", replay_at_ms=60_000, renderer_fixed_at_ms=50_000),
    )


@write(3)
def permanent_or_not() -> Write:
    return Write(
        prompt="Write `is_permanent(status)` for the answers of an API. "
        "4xx is permanent, but 408 and 429 are transient. All the rest is transient.",
        starter="""def is_permanent(status):
    return status >= 400
""",
        solution="""def is_permanent(status):
    return 400 <= status < 500 and status not in (408, 429)
""",
        check="""def check(namespace):
    is_permanent = wanted(namespace, "is_permanent")
    for status in (400, 401, 404, 410, 422, 499):
        same(True, is_permanent, status)
    for status in (408, 429, 500, 502, 503, 504):
        same(False, is_permanent, status)
""",
        explanation="A 4xx says that the request is wrong, and it stays wrong. "
        "408 (too slow) and 429 (too many) are about the moment, as every 5xx is.",
        proof=proof("dead-letters", "dead", "permanent"),
    )


@write(3, 2)
def retry_or_dead() -> Write:
    return Write(
        prompt='Write `after_failure(attempts, max_attempts, permanent)`. It returns `"retry"` or `"dead"`. '
        "`attempts` counts the attempt that has just failed. `max_attempts` is the number of calls allowed in all.",
        starter="""def after_failure(attempts, max_attempts, permanent):
    return "retry" if attempts <= max_attempts else "dead"
""",
        solution="""def after_failure(attempts, max_attempts, permanent):
    if permanent or attempts >= max_attempts:
        return "dead"
    return "retry"
""",
        check="""def check(namespace):
    after_failure = wanted(namespace, "after_failure")
    for max_attempts in (1, 3, 5):
        for attempts in range(1, max_attempts):
            same("retry", after_failure, attempts, max_attempts, False)
        same("dead", after_failure, max_attempts, max_attempts, False)
        same("dead", after_failure, 1, max_attempts, True)
    same("dead", after_failure, 7, 5, False)
""",
        explanation="The job is dead at the failure of its last allowed attempt, so `>=`. "
        "A permanent error asks for no count.",
        proof=proof("dead-letters", "dead", "job-2"),
    )


@write(3)
def refuse_a_bad_address() -> Write:
    return Write(
        prompt="Write the handler `send_receipt(payload, send)`. "
        "An address without an @ can never work: raise `PermanentJobError` and send nothing. "
        "Else call `send(email)`, and let its errors through: they may pass.",
        starter="""from lessons.reference.worker import PermanentJobError


def send_receipt(payload, send):
    try:
        send(payload["email"])
    except Exception as error:
        raise PermanentJobError(str(error))
""",
        solution="""from lessons.reference.worker import PermanentJobError


def send_receipt(payload, send):
    email = payload["email"]
    if "@" not in email:
        raise PermanentJobError(f"not an e-mail address: {email}")
    send(email)
""",
        check="""from lessons.reference.worker import PermanentJobError


def raised_by(send_receipt, email, send):
    try:
        send_receipt({"email": email}, send)
    except Exception as error:
        return type(error)
    return None


def down(email):
    raise ConnectionError("503")


def check(namespace):
    send_receipt = wanted(namespace, "send_receipt")
    sent = []
    if raised_by(send_receipt, "bola.example.com", sent.append) is not PermanentJobError:
        raise AssertionError("The address bola.example.com has no @: that should be a PermanentJobError.")
    if sent:
        raise AssertionError("Something was sent to bola.example.com. Look at the address first.")
    error = raised_by(send_receipt, "ada@example.com", sent.append)
    if error is not None or sent != ["ada@example.com"]:
        raise AssertionError("The address ada@example.com should get one receipt, without an error.")
    error = raised_by(send_receipt, "ada@example.com", down)
    if error is not ConnectionError:
        raise AssertionError(f"A provider that is down may come back. Let its ConnectionError through: got {error}.")
""",
        explanation="Only the handler knows that this address can never work. What it does not know to be "
        "permanent it leaves to the queue: the limit on attempts still ends it.",
        proof=proof("dead-letters", "dead", "permanent"),
    )
