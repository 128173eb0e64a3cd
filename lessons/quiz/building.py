"""Objective 2: a queue with leases, retries with backoff and jitter, and dead letters."""

from random import Random

from lessons.quiz.making import Choose, Predict, Run, Write, choose, fill, predict, proof, s, times, write
from lessons.reference.backoff import doubling, equal_jitter

AN_HOUR_MS = 3_600_000


@choose(2)
def next_pause(chance: Random) -> Choose:
    base_ms = chance.choice([500, 1_000, 2_000, 3_000])
    attempt = chance.randrange(3, 7)
    cap_ms = base_ms * 2 ** chance.randrange(attempt - 2, attempt + 2) * 5 // 4
    right_ms = doubling(base_ms, cap_ms)(attempt)
    run = Run("retries", base_ms=base_ms, cap_ms=cap_ms, max_attempts=attempt + 1, provider_up_at_ms=AN_HOUR_MS)
    return Choose(
        prompt=f"Backoff doubles from a base of {s(base_ms)} up to a cap of {s(cap_ms)}, without jitter. "
        f"Attempt {attempt} has just failed. How long is the pause before attempt {attempt + 1}?",
        right=(s(right_ms), f"min({s(cap_ms)}, {s(base_ms)} × 2 to the power of {attempt - 1})."),
        wrong=[
            (s(base_ms * 2 ** (attempt - 1)), "The doubling is right, but no pause is longer than the cap."),
            (s(min(cap_ms, base_ms * 2**attempt)), "One doubling too many: the first pause is the base itself."),
            (s(min(cap_ms, base_ms * 2 ** (attempt - 2))), "One doubling too few: the pause grows at every failure."),
            (s(min(cap_ms, base_ms * attempt)), "That grows by the base each time. Exponential backoff doubles."),
            (s(cap_ms), "The cap is only a limit, and the doubling has not reached it yet."),
            (s(base_ms), "Only the first pause is as short as the base."),
        ],
        explanation="The pauses are base, 2 × base, 4 × base and so on, each cut at the cap.",
        proof=run.at(run.find("retry", f"attempt {attempt} of")),
    )


@choose(2)
def pause_with_equal_jitter(chance: Random) -> Choose:
    base_ms = chance.choice([1_000, 2_000, 4_000])
    attempt = chance.randrange(2, 7)
    cap_ms = base_ms * 2 ** chance.randrange(attempt - 2, attempt + 1)
    low_ms = equal_jitter(base_ms, cap_ms, lambda: 0.0)(attempt)
    high_ms = equal_jitter(base_ms, cap_ms, lambda: 1.0)(attempt)
    run = Run(
        "retries",
        base_ms=base_ms,
        cap_ms=cap_ms,
        jitter="equal",
        max_attempts=attempt + 1,
        provider_up_at_ms=AN_HOUR_MS,
        seed=chance.randrange(1, 1_000),
    )

    def between(low_ms: int, high_ms: int) -> str:
        return f"between {s(low_ms)} and {s(high_ms)}"

    return Choose(
        prompt=f"The base is {s(base_ms)}, the cap {s(cap_ms)}, and the jitter is equal jitter: "
        f"half of the pause is fixed, up to the other half is random. How long is the pause after attempt {attempt}?",
        right=(between(low_ms, high_ms), "Half of the doubled and capped pause for certain, the rest by chance."),
        wrong=[
            (f"exactly {s(high_ms)}", "That is the pause without jitter."),
            (between(0, high_ms), "That is full jitter: all of the pause is random."),
            (
                between(base_ms * 2 ** (attempt - 1) // 2, base_ms * 2 ** (attempt - 1)),
                "The cap is applied before the jitter.",
            ),
            (between(high_ms, high_ms + low_ms), "Jitter is not added on top: it takes away, up to a half."),
        ],
        explanation=f"Doubling and cap give {s(high_ms)}. Half of that is certain, so the pause is never "
        f"shorter than {s(low_ms)}. Jobs that failed together come back at different times.",
        proof=run.at(run.find("retry", f"attempt {attempt} of")),
    )


@choose(2)
def first_success(chance: Random) -> Choose:
    base_ms = chance.choice([1_000, 2_000, 3_000])
    back_at_ms = chance.choice([4, 5, 8, 10, 11, 13, 18, 19, 22, 25, 28, 34, 40]) * 1_000
    run = Run("retries", base_ms=base_ms, max_attempts=10, provider_up_at_ms=back_at_ms)
    sent = run.find("effect", "receipt for order")
    claims = [step.at_ms for step in run.all("claim", "job-1")]
    return Choose(
        prompt=f"A receipt fails at t=0 and is tried again with backoff: base {s(base_ms)}, cap 60 s, no jitter, "
        f"10 attempts. The provider is back at t={s(back_at_ms)}. A call takes no time. When does the receipt go out?",
        right=(f"t={s(sent.at_ms)}", f"At attempt {len(claims)}, the first one after the provider is back."),
        wrong=[
            (f"t={s(back_at_ms)}", "The queue does not see that the provider is back. It keeps to its pauses."),
            (f"t={s(back_at_ms + base_ms)}", "The pauses run from failure to failure, not from the end of the outage."),
            (f"t={s(claims[-2])}", "That attempt comes when the provider is still down."),
            (
                f"t={s(sent.at_ms + doubling(base_ms, 60_000)(len(claims)))}",
                "That would be the attempt after a further failure.",
            ),
        ],
        explanation=f"The attempts are at {', '.join(s(at_ms) for at_ms in claims)}: the pause doubles each time. "
        "Long pauses spare a broken provider, and the receipt is a little later.",
        proof=run.at(sent),
    )


@choose(2, 2)
def calls_for_max_attempts(chance: Random) -> Choose:
    most = chance.randrange(2, 6)
    run = Run("dead-letters", max_attempts=most)
    calls = len(run.all("claim", "job-2"))
    return Choose(
        prompt=f"A queue is set to max_attempts = {most}, and a job fails every time. "
        "How often is its handler called in total?",
        right=(times(calls), "The first try is an attempt, too."),
        wrong=[
            (times(most + 1), "A limit on retries counts like that: one first try, and then the retries."),
            (times(most - 1), "At the last attempt the handler is called as well. Its failure is the last one."),
            ("for ever", "The limit ends it: the job goes to the dead letters."),
            ("1 time", "It has more than one attempt, and its error is not permanent."),
        ],
        explanation="Attempts count every call, the first one included. "
        "A library that says “retries” or “tries” may count otherwise: read what the word means there.",
        proof=run.at(run.find("dead", "job-2")),
    )


@choose(2, 11)
def three_clocks(chance: Random) -> Choose:
    lease_ms = chance.choice([30_000, 45_000, 60_000, 90_000])
    timeout_ms, backoff_ms = lease_ms * 2 // 3, chance.choice([1_000, 2_000, 5_000])
    crash_ms = chance.randrange(3_000, lease_ms // 2, 1_000)
    run = Run("redelivery", visibility_ms=lease_ms, work_ms=crash_ms, a_dies="before",
              first_look_ms=crash_ms, second_look_ms=lease_ms)  # fmt: skip
    claim = run.find("claim", actor="worker B")
    return Choose(
        prompt=f"Three settings: a run is stopped after {s(timeout_ms)}, a lease lasts {s(lease_ms)}, "
        f"the pause after a failure is {s(backoff_ms)}. Worker A claims a job at t=0, and its server loses power "
        f"at t={s(crash_ms)}. From when on can worker B claim the job?",
        right=(f"t={s(claim.at_ms)}", "Nobody reports anything, so only the end of the lease frees the job."),
        wrong=[
            (
                f"t={s(crash_ms + backoff_ms)}",
                "The pause follows a reported failure. A dead worker reports none.",
            ),
            (f"t={s(timeout_ms)}", "The stop after so long is worker A's own, and it is gone with worker A."),
            (f"t={s(crash_ms)}", "The queue does not see the power fail."),
            (f"t={s(crash_ms + lease_ms)}", "The lease runs from the claim, not from the crash."),
        ],
        explanation="Three different clocks: the timeout stops a run, the lease decides when others may have the job, "
        "the backoff decides when a failed job is due. Keep the timeout shorter than the lease.",
        proof=run.at(claim),
    )


@choose(2, 12)
def a_very_long_lease(chance: Random) -> Choose:
    lease_ms = chance.choice([600_000, 900_000, 1_800_000, 3_600_000])
    crash_ms = chance.randrange(2_000, 10_000, 1_000)
    run = Run("redelivery", visibility_ms=lease_ms, work_ms=crash_ms, a_dies="before",
              first_look_ms=crash_ms, second_look_ms=lease_ms)  # fmt: skip
    claim = run.find("claim", actor="worker B")
    idle_ms = claim.at_ms - run.find("crash").at_ms
    return Choose(
        prompt=f"“I make the lease {s(lease_ms)} long, so I never get a job twice.” "
        f"A worker claims a job and dies {s(crash_ms)} later. Another one is always free. "
        "How long does nobody work on the job?",
        right=(s(idle_ms), "The rest of the lease, in which the job is hidden."),
        wrong=[
            (s(lease_ms), "Close: the lease began at the claim, so a part of it is over at the crash."),
            ("0 s", "The free worker would take it, but the job is hidden from it."),
            (s(crash_ms), "That is how long the dead worker had worked."),
        ],
        explanation="A long lease trades repeats for waiting. "
        "The better way is a short lease that the worker renews while it works.",
        proof=run.at(claim),
    )


@choose(2, 23)
def not_before(chance: Random) -> Choose:
    base_ms = chance.choice([1_200, 1_500, 2_300, 3_400, 4_700, 6_100])
    run = Run("retries", base_ms=base_ms)
    second = run.find("claim", "job-1", nth=2)
    return Choose(
        prompt=f"A job fails at t=0 and is due again at t={s(base_ms)}. "
        "The worker looks at the queue once a second: at t=0 s, 1 s, 2 s and so on. When does attempt 2 start?",
        right=(f"t={s(second.at_ms)}", "At the worker's first look that is not before the job is due."),
        wrong=[
            (f"t={s(base_ms)}", "Then it is due. But nobody looks at that moment."),
            (f"t={s(second.at_ms - 1_000)}", "That look comes too early: the job is not due yet."),
            (f"t={s(second.at_ms + 1_000)}", "The look one second earlier finds the job already."),
            ("t=0 s", "Not before it is due, or there would be no pause."),
        ],
        explanation="“Run at” means not before. The time to the next look comes on top, "
        "and the wait for a free worker, too.",
        proof=run.at(second),
    )


@choose(2)
def given_up_in_the_outage(chance: Random) -> Choose:
    most, base_ms = chance.randrange(3, 7), chance.choice([1_000, 2_000, 4_000])
    run = Run("retries", max_attempts=most, base_ms=base_ms, provider_up_at_ms=AN_HOUR_MS)
    dead = run.find("dead", "job-1")
    return Choose(
        prompt=f"The mail provider is down for an hour. A receipt has {most} attempts, "
        f"base {s(base_ms)}, cap 60 s, no jitter. The first attempt is at t=0, and a call takes no time. "
        "When does the receipt go to the dead letters?",
        right=(f"t={s(dead.at_ms)}", f"At attempt {most}, after {most - 1} pauses."),
        wrong=[
            (
                f"t={s(sum(map(doubling(base_ms, 60_000), range(1, most + 1))))}",
                f"One pause too many: {most} attempts have {most - 1} pauses between them.",
            ),
            (
                f"t={s(base_ms * (most - 1))}",
                "So it would be with equal pauses. They double.",
            ),
            ("never: it is sent after the hour", "The attempts are used up long before the hour is over."),
            (f"t={s(doubling(base_ms, 60_000)(most - 1))}", "That is the last pause alone. All the pauses add up."),
        ],
        explanation="The limit decides how long a job can wait until an outage is over. "
        f"These attempts are over after {s(dead.at_ms)}. So nearly every receipt of that hour is a dead letter: "
        f"only those of its last {s(dead.at_ms)} still have an attempt left when the provider is back.",
        proof=run.at(dead),
    )


@predict(2)
def lease_to_the_millisecond(chance: Random) -> Predict:
    lease_ms, start_ms = chance.choice([10_000, 20_000, 30_000, 45_000]), chance.randrange(1_000, 9_000, 1_000)
    return Predict(
        program=fill(
            """
from lessons.reference.clock import ManualClock
from lessons.reference.job_queue import JobQueue, QueueOptions

clock = ManualClock()
queue = JobQueue(clock, QueueOptions(max_attempts=5, visibility_ms=$lease_ms, backoff=lambda attempt: 1_000))
queue.enqueue("send-receipt", {"order_id": 1001})

clock.advance($start_ms)
print(queue.claim().attempts)

clock.advance($almost_ms)
print(queue.claim())

clock.advance(1)
print(queue.claim().attempts, "at", clock.now())
""",
            lease_ms=lease_ms,
            start_ms=start_ms,
            almost_ms=lease_ms - 1,
        ),
        explanation="The lease runs from the claim. One millisecond before its end the job is hidden, "
        "and at its end it is free: the rule is `leased_until_ms <= now`. Each claim is an attempt.",
        proof=proof("redelivery", "lease expired", visibility_ms=lease_ms, second_look_ms=lease_ms),
    )


@predict(2)
def pauses_in_a_row(chance: Random) -> Predict:
    base_ms, cap_ms = chance.choice([(1_000, 5_000), (500, 3_000), (2_000, 10_000), (1_000, 8_000), (3_000, 20_000)])
    return Predict(
        program=fill(
            """
from lessons.reference.backoff import doubling
from lessons.reference.clock import ManualClock
from lessons.reference.job_queue import JobQueue, QueueOptions

clock = ManualClock()
backoff = doubling(base_ms=$base_ms, cap_ms=$cap_ms)
queue = JobQueue(clock, QueueOptions(max_attempts=5, visibility_ms=30_000, backoff=backoff))
queue.enqueue("send-receipt", {"order_id": 1001}, id="receipt")

while "receipt" in queue.jobs:
    job = queue.claim()
    print(clock.now(), queue.fail(job.receipt, "503"))
    clock.advance(job.run_at_ms - clock.now())
""",
            base_ms=base_ms,
            cap_ms=cap_ms,
        ),
        explanation="The pause doubles after each failure until it meets the cap. The times add up. "
        "After the last attempt there is no pause.",
        proof=proof("retries", "retry", nth=4, base_ms=base_ms, cap_ms=cap_ms, provider_up_at_ms=AN_HOUR_MS),
    )


@predict(2)
def half_a_chance(chance: Random) -> Predict:
    base_ms = chance.choice([1_000, 2_000, 4_000])
    return Predict(
        program=fill(
            """
from lessons.reference.backoff import doubling, equal_jitter, full_jitter

def random():
    return 0.5

base_ms, cap_ms = $base_ms, $cap_ms
backoffs = {
    "none": doubling(base_ms, cap_ms),
    "equal": equal_jitter(base_ms, cap_ms, random),
    "full": full_jitter(base_ms, cap_ms, random),
}
for jitter, pause_ms in backoffs.items():
    print(jitter, [pause_ms(attempt) for attempt in [1, 2, 3, 4]])
""",
            base_ms=base_ms,
            cap_ms=base_ms * chance.choice([3, 5, 6]),
        ),
        explanation="Doubling and cap come first. "
        "Equal jitter keeps half and adds half of the other half: three quarters. "
        "Full jitter takes the random part of all of it: a half.",
        proof=proof("retries", "retry", jitter="full", base_ms=base_ms),
    )


@predict(2, 10)
def back_at_the_head(chance: Random) -> Predict:
    most = chance.randrange(2, 6)
    return Predict(
        program=fill(
            """
from lessons.reference.clock import ManualClock
from lessons.reference.job_queue import JobQueue, QueueOptions
from lessons.reference.worker import Worker

clock = ManualClock()
queue = JobQueue(clock, QueueOptions(max_attempts=$most, visibility_ms=30_000, backoff=lambda attempt: 0))
queue.enqueue("bad", {})
queue.enqueue("good", {})
calls = []

def bad(job):
    calls.append("bad")
    raise ConnectionError("503")

def good(job):
    calls.append("good")

Worker(queue, {"bad": bad, "good": good}, clock, log=lambda line: None).drain()
print(*calls)
""",
            most=most,
        ),
        explanation="A failed job does not go to the back. Without a pause it is due again at once, "
        "stands where it stood, and is claimed before the other. A pause lets the others go first.",
        proof=proof("retries", "claim", "job-1", nth=2, base_ms=1, jitter="full"),
    )


@write(2)
def next_delay() -> Write:
    return Write(
        prompt="Write `next_delay_ms(base_ms, cap_ms, attempt)`: the pause after that attempt has failed. "
        "It is `base_ms` after attempt 1, doubles with each attempt, and is never more than `cap_ms`.",
        starter="""def next_delay_ms(base_ms, cap_ms, attempt):
    return base_ms * 2 ** attempt
""",
        solution="""def next_delay_ms(base_ms, cap_ms, attempt):
    return min(cap_ms, base_ms * 2 ** (attempt - 1))
""",
        check="""def check(namespace):
    next_delay_ms = wanted(namespace, "next_delay_ms")
    for attempt, expected in enumerate([1_000, 2_000, 4_000, 8_000, 10_000, 10_000], start=1):
        same(expected, next_delay_ms, 1_000, 10_000, attempt)
    same(300, next_delay_ms, 300, 60_000, 1)
    same(2_400, next_delay_ms, 300, 60_000, 4)
    same(500, next_delay_ms, 500, 500, 7)
""",
        explanation="`attempt - 1` doublings: the first pause is the base. `min` is the cap.",
        proof=proof("retries", "retry", nth=3),
    )


@write(2)
def full_jitter() -> Write:
    return Write(
        prompt="Write `full_jitter_ms(base_ms, cap_ms, attempt, random)`: any pause from 0 up to the doubled and "
        "capped one. `random()` gives a number from 0 up to 1. Return a whole number (`round` will do).",
        starter="""def full_jitter_ms(base_ms, cap_ms, attempt, random):
    return min(cap_ms, base_ms * 2 ** (attempt - 1))
""",
        solution="""def full_jitter_ms(base_ms, cap_ms, attempt, random):
    ceiling_ms = min(cap_ms, base_ms * 2 ** (attempt - 1))
    return round(random() * ceiling_ms)
""",
        check="""def check(namespace):
    full_jitter_ms = wanted(namespace, "full_jitter_ms")
    for chance in (0.0, 0.25, 0.5, 1.0):
        for attempt, ceiling_ms in enumerate([1_000, 2_000, 4_000, 8_000, 16_000, 20_000], start=1):
            got = called(full_jitter_ms, 1_000, 20_000, attempt, lambda chance=chance: chance)
            expected = int(chance * ceiling_ms)
            if got != expected:
                raise AssertionError(
                    f"base 1000, cap 20000, attempt {attempt}, random {chance}: it gave {got!r}, not {expected}."
                )
""",
        explanation="The random number takes its part of the capped pause. "
        "Jobs that failed at the same moment are spread over all of it.",
        proof=proof("retries", "retry", jitter="full", receipts=3, nth=3),
    )


@write(2)
def may_be_claimed() -> Write:
    return Write(
        prompt="Write `claimable(job, now_ms)`. A job is a dict with `run_at_ms` (not before) and `leased_until_ms` "
        "(0, or the end of its lease). It can be claimed when it is due and no lease is left. "
        "At exactly these times it can be claimed already.",
        starter="""def claimable(job, now_ms):
    return job["run_at_ms"] < now_ms
""",
        solution="""def claimable(job, now_ms):
    return job["run_at_ms"] <= now_ms and job["leased_until_ms"] <= now_ms
""",
        check="""def check(namespace):
    claimable = wanted(namespace, "claimable")
    cases = [
        (0, 0, 0, True),
        (1_000, 0, 999, False),
        (1_000, 0, 1_000, True),
        (0, 30_000, 29_999, False),
        (0, 30_000, 30_000, True),
        (40_000, 30_000, 35_000, False),
        (1_000, 30_000, 5_000, False),
    ]
    for run_at_ms, leased_until_ms, now_ms, expected in cases:
        same(expected, claimable, {"run_at_ms": run_at_ms, "leased_until_ms": leased_until_ms}, now_ms)
""",
        explanation="Two times hide a job: the pause before its next attempt, and the lease of its holder. "
        "`<=` counts the last millisecond as over.",
        proof=proof("redelivery", "claim", actor="worker B"),
    )
