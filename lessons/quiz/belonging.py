"""Objective 1: what belongs in a job, and what a queue buys and costs."""

from random import Random

from lessons.quiz.making import (
    Choose,
    Predict,
    Run,
    Write,
    by_hand,
    choose,
    fill,
    finished,
    new_queue,
    predict,
    proof,
    s,
    times,
    write,
)
from lessons.simulation import Actor, claim_at, simulate, work


@choose(1)
def which_work_cannot_wait() -> Choose:
    return Choose(
        prompt="A checkout charges the card, makes a PDF invoice, e-mails a receipt and tells the warehouse. "
        "Which of these must be finished before the customer gets an answer?",
        right=("Charging the card", "“Order placed” is only true when the charge has worked."),
        wrong=[
            ("E-mailing the receipt", "The customer wants it soon, but the order is placed without it."),
            ("Making the invoice", "It belongs to the order, but nobody reads it before the answer."),
            ("Telling the warehouse", "Picking takes hours anyway. A few seconds more change nothing."),
        ],
        explanation="The request does what its answer depends on: the charge, and the order itself. "
        "All else can be a job. Then a slow or broken helper neither delays nor spoils the answer.",
        proof=proof("sync-checkout", "print", "customer sees", mode="queue"),
    )


@choose(1)
def wait_in_the_request(chance: Random) -> Choose:
    card_ms, pdf_ms, mail_ms = (
        chance.randrange(10, 60, 10),
        chance.randrange(200, 900, 20),
        chance.randrange(30, 190, 10),
    )
    run = Run("sync-checkout", provider_up=True, card_ms=card_ms, pdf_ms=pdf_ms, mail_ms=mail_ms)
    answer = run.find("print", "customer sees")
    return Choose(
        prompt=f"The checkout charges the card ({card_ms} ms), then renders the invoice ({pdf_ms} ms), "
        f"then e-mails the receipt ({mail_ms} ms), and only then answers. How long does the customer wait?",
        right=(f"{answer.at_ms} ms", "Every step in the request adds to the wait."),
        wrong=[
            (f"{max(card_ms, pdf_ms, mail_ms)} ms", "The slowest step alone would count if all ran side by side."),
            (f"{card_ms} ms", "That is the wait when invoice and receipt are left to a queue."),
            (f"{card_ms + pdf_ms} ms", "The e-mail is in the request, too."),
            (f"{pdf_ms + mail_ms} ms", "The charge takes its time as well."),
        ],
        explanation="The steps run one after the other, so their times add up. "
        "With a queue, only the charge would be left in the request.",
        proof=run.at(answer),
    )


@choose(1)
def wait_with_a_queue(chance: Random) -> Choose:
    card_ms, pdf_ms, mail_ms = (
        chance.randrange(20, 90, 10),
        chance.randrange(200, 900, 20),
        chance.randrange(30, 190, 10),
    )
    run = Run("sync-checkout", mode="queue", card_ms=card_ms, pdf_ms=pdf_ms, mail_ms=mail_ms)
    answer = run.find("print", "customer sees")
    return Choose(
        prompt=f"The checkout charges the card ({card_ms} ms), puts two jobs into a queue and answers. "
        f"A worker renders the invoice ({pdf_ms} ms) and e-mails the receipt ({mail_ms} ms). "
        "The mail provider is down this evening. What does the customer see?",
        right=(f"“201 order placed” after {answer.at_ms} ms", "The answer waits for the charge, and for no job."),
        wrong=[
            (
                f"“500” after {card_ms + pdf_ms + mail_ms} ms",
                "So it would be with all the work in the request. Here the error meets the worker.",
            ),
            (
                f"“201 order placed” after {card_ms + pdf_ms + mail_ms} ms",
                "The jobs take that long, but the customer does not wait for them.",
            ),
            (
                f"“500” after {card_ms} ms",
                "The checkout does not talk to the mail provider, so it cannot see its error.",
            ),
        ],
        explanation="The request ends when both jobs are in the queue. "
        "The outage becomes the worker's problem, and the worker tries again later.",
        proof=run.at(answer),
    )


@choose(1)
def charged_again() -> Choose:
    run = Run("sync-checkout", customer_retries=True)
    charges = run.effects("card company")
    return Choose(
        prompt="A checkout charges the card, renders the invoice and e-mails the receipt, all in the request. "
        "The mail provider is down, so the customer sees an error, and clicks once more. "
        "How often is the card charged?",
        right=(times(len(charges)), "Each click begins at the top, and a charge that has worked stays."),
        wrong=[
            ("1 time", "The error looks as if nothing had happened. But the charge came before it."),
            ("0 times", "Nothing takes the charge back when a later step fails."),
            ("3 times", "There are two clicks, and one charge in each."),
        ],
        explanation="The charge reaches the card company before the e-mail fails. "
        "A failure late in a request does not undo what came before. "
        "With the receipt in a queue there is no error to see, and no second click.",
        proof=run.at(run.find("effect", "charged", nth=-1)),
    )


@choose(1)
def which_is_an_event() -> Choose:
    return Choose(
        prompt="A job is an instruction for one handler. An event is a fact that anybody may react to. "
        "Which of these is an event?",
        right=("Order 1001 was paid", "It says what happened, and not what anybody has to do."),
        wrong=[
            ("Send the receipt for order 1001", "It tells one handler what to do: a job."),
            ("Pick the items of order 1001", "The warehouse gets it as an instruction: a job."),
            ("Credit 204 points to customer 7", "It sounds like a booking entry, but it asks for work: a job."),
        ],
        explanation="The checkout states the fact once. Each subscriber makes a job of its own out of it. "
        "So a new reaction needs no change in the checkout.",
        proof=proof("fan-out", "enqueue", "credit-points"),
    )


@choose(1, 7)
def the_worker_is_stopped() -> Choose:
    return Choose(
        prompt="Three jobs wait in a queue with leases, and a worker is busy with a fourth. "
        "Somebody presses Ctrl+C, and the worker dies at once. What happens to the four jobs?",
        right=(
            "The three still wait. The fourth comes back when its lease ends.",
            "The jobs are in the queue, not in the worker. A claim only hides one.",
        ),
        wrong=[
            (
                "All four are lost, because the worker held the queue in memory.",
                "It feels like closing a program. But the queue is another program, and it goes on.",
            ),
            (
                "The three still wait. The fourth is lost.",
                "True for a queue that deletes a job at the claim. With a lease it is only hidden.",
            ),
            (
                "The three still wait. The fourth goes to the dead letters at once.",
                "Nobody reported a failure, and a job has more than one attempt.",
            ),
        ],
        explanation="A worker only borrows a job. When it dies without an ack, "
        "the lease runs out and somebody else may claim the job.",
        proof=proof("job-queue", "lease expired", ops="enqueue enqueue enqueue enqueue claim.A crash.A advance.30000"),
    )


@choose(1, 8)
def how_many_at_once(chance: Random) -> Choose:
    workers, each = chance.choice([(2, 5), (3, 5), (4, 3), (3, 8), (2, 7), (5, 4), (4, 6)])
    clock, queue = new_queue()
    for _ in range(100):
        queue.enqueue("work", {})
    leased_at_once = []

    def slot() -> Actor:
        yield claim_at(0)
        job = queue.claim()
        assert job is not None
        yield work(10_000)
        leased_at_once.append(sum(job.leased_until_ms > clock.now() for job in queue.jobs.values()))
        queue.ack(job.receipt)

    simulate(clock, *(slot() for _ in range(workers * each)))
    most = max(leased_at_once)
    return Choose(
        prompt=f"A queue has 100 waiting jobs. You start {workers} worker processes. Each has concurrency {each}: "
        "that is how many jobs it works on at once. How many jobs run at the same time in all?",
        right=(str(most), "Each process has that many slots of its own."),
        wrong=[
            (str(each), "It reads like a limit of the whole queue, but each process knows only its own slots."),
            (str(workers), "One job for each process: that is concurrency 1."),
            (str(workers + each), "Each process has the slots, so the numbers multiply."),
            ("100", "A job runs only where a slot is free."),
        ],
        explanation=f"Concurrency counts the slots of one process: {workers} × {each} = {most}. "
        "A limit for all processes together has to be kept somewhere that they share.",
        proof=proof("fan-out", "claim", "The loyalty worker", warehouse_ms=30_000),
    )


@choose(1, 4)
def last_job_is_done(chance: Random) -> Choose:
    jobs, workers = chance.randrange(5, 11), 2  # as many as the job queue's page has
    takes_ms = chance.choice([10_000, 15_000, 20_000])
    last_ms = finished([takes_ms] * jobs, workers)[-1][1]
    return Choose(
        prompt=f"{jobs} jobs wait, each takes {s(takes_ms)}, and {workers} workers begin at t=0, "
        "each with one job at a time. Nothing fails. When is the last job done?",
        right=(f"t={s(last_ms)}", "Each worker claims the next job when it is free."),
        wrong=[
            (
                f"t={s(jobs * takes_ms)}",
                "So it would be if the queue ran the jobs one after the other. It only hands them out.",
            ),
            (f"t={s(takes_ms)}", "There are more jobs than workers, so some have to wait."),
            (f"t={s(last_ms + takes_ms)}", "One round too many: the first jobs begin at once."),
            (f"t={s(last_ms - takes_ms)}", "One round too few: the jobs left over need one of their own."),
        ],
        explanation="A queue stores jobs and hands them out. How many run side by side depends on the workers. "
        f"Here {workers} run at a time.",
        proof=proof("job-queue", "ack", nth=-1, ops=by_hand([takes_ms] * jobs), visibility_ms=3_600_000),
    )


@choose(1, 24)
def nobody_works(chance: Random) -> Choose:
    minutes = chance.randrange(4, 31)
    clock, queue = new_queue()
    for minute in range(minutes):
        clock.advance(60_000)
        queue.enqueue("report", {}, f"report-{minute}")
    waiting = queue.pending
    return Choose(
        prompt="A scheduler puts a report job into the queue once a minute, each with its own id. "
        f"All workers are down for {minutes} of these minutes, while the scheduler runs on. "
        "How many report jobs wait when the workers return?",
        right=(str(waiting), "The queue keeps every one of them."),
        wrong=[
            ("0", "Cron skips what it could not start. Here the jobs have been enqueued, and they wait."),
            ("1", "They would be one job only if each tick had the same id."),
            (str(minutes - 1), "No tick is lost: each of them was enqueued."),
        ],
        explanation="Jobs pile up while nobody works, and run one after the other later. "
        "Give them an expiry, or one id for all, if only the newest is of use.",
        proof=proof("job-queue", "enqueue", nth=-1, ops=" ".join(["advance.60000 enqueue"] * minutes)),
    )


@predict(1)
def answer_first_work_later(chance: Random) -> Predict:
    return Predict(
        program=fill(
            """
from lessons.reference.clock import ManualClock
from lessons.reference.job_queue import JobQueue, QueueOptions
from lessons.reference.worker import Worker

clock = ManualClock()
queue = JobQueue(clock, QueueOptions(5, 30_000, lambda attempt: 1_000))

def checkout(order_id):
    clock.advance($card_ms)  # the charge
    queue.enqueue("render-invoice", {"order_id": order_id})
    print("answered at", clock.now())

def render_invoice(job):
    clock.advance($pdf_ms)
    print("invoice at", clock.now())

checkout(1001)
checkout(1002)
print("waiting", queue.pending)
Worker(queue, {"render-invoice": render_invoice}, clock, log=lambda line: None).drain()
""",
            card_ms=chance.randrange(10, 60, 10),
            pdf_ms=chance.randrange(100, 500, 50),
        ),
        explanation="`enqueue` takes no time of the checkout, so the second answer comes one charge after the first. "
        "The invoices are rendered later, one after the other by the one worker.",
        proof=proof("sync-checkout", "enqueue", mode="queue"),
    )


@write(1)
def thin_payload() -> Write:
    return Write(
        prompt="Write `place_order(queue, order)`. "
        "`order` is a dict with `id`, `email`, `total_kobo` and `card_number`. "
        'Enqueue one `send-receipt` job whose payload is only `{"order_id": ...}`: the worker loads the rest, fresh. '
        'Give the job the id `order-<id>-receipt`, and return `"201 order placed"`. '
        "The call is `queue.enqueue(type, payload, id)`.",
        starter="""def place_order(queue, order):
    queue.enqueue("send-receipt", order)
    return "201 order placed"
""",
        solution="""def place_order(queue, order):
    order_id = order["id"]
    queue.enqueue("send-receipt", {"order_id": order_id}, f"order-{order_id}-receipt")
    return "201 order placed"
""",
        check="""class Queue:
    def __init__(self):
        self.jobs = []

    def enqueue(self, type, payload, id=None):
        self.jobs.append((type, dict(payload), id))
        return id


def check(namespace):
    place_order = wanted(namespace, "place_order")
    for order_id in (1001, 1002):
        queue = Queue()
        order = {"id": order_id, "email": "ada@example.com", "total_kobo": 2_042_500, "card_number": "4111"}
        answer = called(place_order, queue, order)
        if len(queue.jobs) != 1:
            raise AssertionError(f"There should be one job in the queue, not {len(queue.jobs)}.")
        type, payload, id = queue.jobs[0]
        if type != "send-receipt":
            raise AssertionError(f"The job's type should be send-receipt, not {type}.")
        if "card_number" in payload:
            raise AssertionError("The card number is in the payload. Queues are logged and looked at.")
        if payload != {"order_id": order_id}:
            raise AssertionError(f"The payload should be only the order's id, not {payload}.")
        if id != f"order-{order_id}-receipt":
            raise AssertionError(f"The job's id should be order-{order_id}-receipt, not {id}.")
        if answer != "201 order placed":
            raise AssertionError(f"The answer should be '201 order placed', not {answer!r}.")
""",
        explanation="A payload is a copy: it gets old, and whoever looks at the queue can read it. "
        "An id is small, safe, and always leads to the data of now.",
        proof=proof("sync-checkout", "enqueue", "send-receipt", mode="queue"),
    )


@write(1)
def oldest_job() -> Write:
    return Write(
        prompt="The delay that customers feel is the age of the oldest job in the queue. "
        "Write `oldest_age_ms(enqueued_at_ms, now_ms)`: the age of the oldest, "
        "where `enqueued_at_ms` is a list of times in any order. An empty queue has the age 0.",
        starter="""def oldest_age_ms(enqueued_at_ms, now_ms):
    return len(enqueued_at_ms)
""",
        solution="""def oldest_age_ms(enqueued_at_ms, now_ms):
    return now_ms - min(enqueued_at_ms, default=now_ms)
""",
        check="""def check(namespace):
    oldest_age_ms = wanted(namespace, "oldest_age_ms")
    same(4_000, oldest_age_ms, [1_000], 5_000)
    same(9_000, oldest_age_ms, [3_000, 1_000, 2_000], 10_000)
    same(0, oldest_age_ms, [7_000], 7_000)
    same(0, oldest_age_ms, [], 60_000)
""",
        explanation="The length alone misleads: 1,000 jobs may be done in a second, and one may wait for an hour. "
        "The age of the oldest says how late the work is.",
        proof=proof("sync-checkout", "claim", "job-2", mode="queue"),
    )
