"""Changes to the queue that a test should see: each is a slip that somebody could make."""

from lessons.mutation import Mutant

QUEUE = "reference/job_queue.py"
BACKOFF = "reference/backoff.py"
HARDENED = "reference/hardened_queue.py"


COUNT = "                job.attempts += 1\n"
ERROR = "        job.last_error = error\n"
LEASE = "job.leased_until_ms = now + self.options.visibility_ms"
RETRY_AT = "job.run_at_ms = self.clock.now() + self.options.backoff(job.attempts)"
NO_ATTEMPT_LEFT = "job.attempts >= self.options.max_attempts"

MUTANTS = (
    Mutant("lease-end", "A lease is over 1 ms after its end", QUEUE,
           (("job.leased_until_ms <= now", "job.leased_until_ms < now"),)),
    Mutant("lease-late", "The lease is 1 ms too long", QUEUE, ((LEASE, f"{LEASE} + 1"),)),
    Mutant("lease-early", "The lease is 1 ms too short", QUEUE, ((LEASE, f"{LEASE} - 1"),)),
    Mutant("lease-zero", "A claim gives no lease", QUEUE, ((LEASE, "job.leased_until_ms = now"),)),
    Mutant("due-now", "A job that is due now is not due", QUEUE, (("job.run_at_ms <= now", "job.run_at_ms < now"),)),
    Mutant("newest-first", "The newest job comes first", QUEUE,
           (("in self.jobs.values()", "in reversed(self.jobs.values())"),)),
    Mutant("counted-late", "An attempt counts when it fails, not at the claim", QUEUE,
           ((COUNT, ""), (ERROR, f"{ERROR}        job.attempts += 1\n"))),
    Mutant("dead-late", "The dead letter comes one attempt too late", QUEUE,
           ((NO_ATTEMPT_LEFT, "job.attempts > self.options.max_attempts"),)),
    Mutant("dead-early", "The dead letter comes one attempt too early", QUEUE,
           ((NO_ATTEMPT_LEFT, "job.attempts + 1 >= self.options.max_attempts"),)),
    Mutant("dead-stays", "A dead job stays in the queue too", QUEUE, (("            del self.jobs[job.id]\n", ""),)),
    Mutant("dead-lost", "A dead job is thrown away", QUEUE, (("            self.dead.append(job)\n", ""),)),
    Mutant("permanent-ignored", "A permanent error is tried again", QUEUE,
           ((f"if permanent or {NO_ATTEMPT_LEFT}", f"if {NO_ATTEMPT_LEFT}"),)),
    Mutant("fail-keeps-lease", "A failed job keeps its lease", QUEUE, (("        job.leased_until_ms = 0\n", ""),)),
    Mutant("error-forgotten", "The error is not kept", QUEUE, ((ERROR, ""),)),
    Mutant("retry-from-zero", "The wait is counted from time 0", QUEUE,
           ((RETRY_AT, "job.run_at_ms = self.options.backoff(job.attempts)"),)),
    Mutant("ack-keeps", "An ack does not remove the job", QUEUE,
           (("self.jobs.pop(receipt, None)", "self.jobs.get(receipt, None)"),)),
    Mutant("repeat-added", "A known id gets a new job", QUEUE,
           (("if id is None:", "if id is None or id in self.jobs:"),)),
    Mutant("repeat-replaces", "A known id replaces its job", QUEUE, (("if id not in self.jobs:", "if True:"),)),
    Mutant("payload-shared", "The payload is shared with the producer", QUEUE, (("deepcopy(payload)", "payload"),)),
    # The lesson's queue accepts any ack, so there is nothing to break in it: this is a slip in the hardened one.
    Mutant("stale-ack-accepted", "The hardened queue accepts a late ack", HARDENED,
           ((" and job.receipt == receipt", ""),), ("JobQueue", "HardenedQueue")),
    Mutant("no-cap", "The backoff has no cap", BACKOFF,
           (("min(cap_ms, base_ms * 2 ** min(attempt - 1, most_doublings))",
             "base_ms * 2 ** min(attempt - 1, most_doublings)"),)),
    Mutant("no-doubling", "The backoff grows by adding, not by doubling", BACKOFF,
           (("base_ms * 2 ** min(attempt - 1, most_doublings)", "base_ms * 2 * min(attempt - 1, most_doublings)"),)),
    Mutant("doubled-early", "The backoff doubles one attempt too early", BACKOFF,
           (("min(attempt - 1, most_doublings)", "min(attempt, most_doublings)"),)),
    Mutant("no-jitter", "The wait has no random part", BACKOFF,
           (("half_ms + random() * half_ms", "half_ms + half_ms"),)),
    Mutant("half-to-even", "A half is rounded to the even number", BACKOFF,
           (("math.floor(value + 0.5)", "round(value)"),)),
)  # fmt: skip
