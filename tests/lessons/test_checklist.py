"""Nothing that the source lesson says is missing: its facts, line by line, with our words for each and the page."""

import ast
import re
from functools import cache
from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest

from lessons import contents, excerpts
from webapp import create_app, glossary

SOURCE = "https://zudojs.oyinlola.site/learn/backend-queues"

ANSWERED = (
    "/practice/pick-the-guarantee?wallet=at-least-once&wallet_consumer=message-id&online=at-most-once"
    "&online_consumer=nothing&reset=at-least-once&reset_consumer=single-use&warehouse=at-least-once"
    "&warehouse_consumer=order-id"
)

# One line each: what the lesson says there, in the order in which it says it | words of ours that say it.
# Under the address of the page that must have them.
CHECKLIST = {
    "/": """
        how long it takes                      | about an hour
        needs caching                          | caching
        needs testing strategies               | Why tests control time themselves
        needs transactions                     | What a transaction and a primary key are
        can: what belongs in a job             | Decide what belongs in a background job
        can: what a queue gives and costs      | say what a queue gives and what it costs
        can: build a queue                     | workers, leases, retries with backoff and jitter
        can: build a dead-letter queue         | a place for dead letters
        can: kinds of errors                   | Tell a transient error from a permanent one
        can: poison messages                   | deal with a poison message
        can: at least once, processed table    | idempotent with a table of processed messages
        can: outbox                            | you never have one without the other
        can: fan-out                           | one event to several queues
        the source                             | Queues and background jobs
    """,
    "/sync-checkout": """
        title's promise: slow work moves       | out of the request
        one evening, an outage                 | One evening the mail provider is down
        charges the card                       | Charge the card, ₦20,425
        renders a PDF                          | Render the invoice as a PDF | 60 ms
        e-mails a receipt                      | Send the receipt by e-mail | 30 ms
        the card's time                        | 10 ms
        tells the warehouse                    | tells its warehouse to pick the items
        the provider's answer                  | 503
        what the customer sees                 | the customer sees a 500
        what she waits                         | 100 ms
        tries again, calls support, or both    | she pays again (two charges), or calls support, or both
        everyone waits for PDF and mail        | waits for the PDF renderer and the mail server
        two problems, one cause                | Both problems have one cause
        the request does its part only         | charges the card, saves the order and writes a note
        the note                               | send the receipt for order 1001
        it answers at once                     | Then it answers
        workers, retrying                      | tries again if something is down
        what libraries guarantee and do not    | what any library or broker can promise, and what none of them can
        word 1, job or task                    | Job (task)
        word 2, event                          | Event
        word 3, message                        | Message
        word 4, producer                       | Producer
        word 5, consumer or worker             | Consumer (worker)
        word 6, broker                         | RabbitMQ, SQS, Redis, PostgreSQL
        word 7, ack                            | queue.ack(
        ack deletes                            | it is done, so delete it
        a job has one handler                  | an order to one handler
        an event has any number                | any number of parts may react
        message: payload with an id            | some JSON with an id
        producer: the checkout                 | the checkout
        consumer: the receipt sender           | the sender of receipts
        job against event                      | A job is an instruction
        event: a fact                          | An event is a fact
        a new feature subscribes               | The SMS part listens to the event order.paid
        without touching the checkout          | Nobody has to touch the checkout
        question 1                             | 3,000 receipts are queued
        answer 1                               | retry with backoff
        answer 1, do not hammer the provider   | the provider is not overloaded
        answer 1, corrected                    | given up after 15 seconds
        question 2                             | loses power before the queue hears of it
        answer 2, the queue cannot know        | Did the e-mail go out? The queue cannot know
        answer 2, twice                        | two receipts
        answer 2, the guarantee                | at-least-once delivery
        answer 2, no exactly once              | No queue can deliver exactly once across a network
        answer 2, exactly-once effect          | An effect that happens exactly once can be built
        question 3                             | has no @
        answer 3, once                         | A retry does not repair data
        answer 3, permanent                    | permanent
        answer 3, dead-letter queue            | dead-letter queue, where people look
        answer 3, poison message               | poison message
        question 4                             | the queue cannot be reached. What is lost?
        answer 4, the receipt                  | nothing will ever send its e-mail
        answer 4, two systems                  | Database and queue are two systems
        answer 4, outbox                       | in the transaction that saves the order: a transactional outbox
        question 5                             | ₦5,000 of loyalty points
        answer 5, receipt                      | annoys somebody a little
        answer 5, points                       | money given away
        answer 5, idempotent                   | the second time changes nothing
    """,
    "/job-queue": """
        state 1, attempts                      | how often it was handed out
        state 2, runAt                         | the time before which nobody gets it
        state 3, leasedUntil                   | the time until which only one worker may have it
        the lease is the key idea              | The third one is the idea of this page
        hidden, not removed                    | the job stays where it is, hidden from everybody else
        Amazon's name                          | visibility timeout, a name that comes from Amazon SQS
        acks in time                           | in time: it deletes the job
        dies                                   | the lease runs out, and everybody can see the job again
        only an ack removes it                 | Nothing but an ack deletes a job
        back after a crash                     | After a crash it comes back
        type 1 and its payload                 | send-receipt, with an order and an e-mail address
        type 2 and its payload                 | render-invoice, with an order
        the clock is handed in                 | It asks the clock that it was given
        1, 2, 4, up to a cap                   | 1 s, 2 s, 4 s and so on, up to 60 s
        jitter: half to full                   | Half of the pause is fixed. The other half is random
        chance is a parameter                  | the random function is an argument
        enqueue's id                           | A producer may choose the id
        enqueue ignores a known id             | the second one is ignored
        why that helps                         | makes no duplicate
        claim counts the attempt               | The attempt counts at the claim
        a crash uses up an attempt             | its attempt counts all the same
        fail decides                           | fail decides what happens to the job
        permanent goes straight                | A permanent failure goes there at once
        one job at a time                      | It takes one job at a time and calls the handler of its type
        PermanentJobError                      | The handler raises it to say that trying again cannot help
        drain                                  | drain goes on until nothing is due
        the boundary                           | at 29.999 s | at 30 s
    """,
    "/retries": """
        the provider is back                   | back at 5 s
        one second a loop                      | the clock moves on one second
        the manual clock                       | stands still until the program moves it
        1, 2, 4, 8 and so on                   | 1 s, 2 s, 4 s, 8 s
        a cap                                  | never more than the cap of 60 s
        doubling brings them back together     | Jobs that fail together also come back together
        jitter: half and full                  | from half the delay up to all of it
        chance is a parameter                  | Chance is an argument
        always 1 in the demos                  | always 1, the full pause
        each job is independent                | It does not wait for the receipt: each job is on its own
        failed at                              | fails at 0 s, 1 s and 3 s
        went out                               | at 7 s
        the checkout had answered              | the checkout has answered in 10 ms
        how long: outage                       | Longer than a usual outage
        how long: of use                       | no longer than the result is of use
        a receipt                              | after five hours
        a login code                           | after five minutes
        each type its own                      | each type of job needs its own limit and cap
        corrected: an hour of outage           | They cannot survive an outage of an hour
        corrected: 66 attempts                 | 66 attempts are enough
        corrected: overtaking                  | a retried job overtakes nobody. That is wrong
        full jitter                            | leaves all of it to chance
        full jitter is kindest                 | kindest to the provider
        full jitter's cost                     | some retries come almost at once
        attempts count from the first          | one try and four retries
    """,
    "/dead-letters": """
        will never succeed                     | A job that cannot succeed is a poison message
        wastes, delays, hides                  | is wasted, holds up other jobs, and hides the fault
        the bad address                        | an address without an @
        the bad template                       | template crashes the PDF renderer
        one attempt                            | given up after one attempt
        four attempts                          | all four attempts, at 0 s, 1 s, 3 s and 7 s
        not a bin, an inbox                    | no place for rubbish. It is an inbox for people
        alert                                  | Raise an alarm while it is not empty
        fix the cause                          | repair the cause, in the data or in the code
        replay                                 | replay the dead jobs
        classify in the handler                | The handler knows most about an error
        permanent: validation                  | data that breaks a rule
        permanent: not found                   | "not found"
        permanent: 4xx                         | a 4xx answer
        except 408 and 429                     | also 408 and 429
        transient: timeouts                    | a time-out, no connection, a 5xx answer
        when unsure                            | treat it as transient
        the limit stops it                     | the limit on attempts ends it
        PermanentJobError                      | The handler raises a PermanentJobError
        corrected: not found                   | "Not found" needs a second thought
        corrected: crashes and the limit       | 11 claims in 300 s with a limit of 5
        corrected: the limit at each claim     | ends it at 150 s
    """,
    "/redelivery": """
        claims, sends, dies                    | claims the receipt for order 1001, sends it and dies
        no ack, no fail                        | There is no ack and no fail
        hidden, not removed                    | A claim does not remove a job
        the name's origin                      | Amazon SQS
        after 10 s                             | At 10 s worker B gets nothing
        might still be working                 | Worker A could still be at work
        after 30 s                             | At 30 s the lease is over
        attempt 2                              | attempt 2
        counted when handed out                | Attempts are counted at the claim
        a crash uses up an attempt             | the attempt of the dead worker counts too
        two receipts                           | Ada has two receipts
        at most once                           | lost, and nobody hears of it
        losing is worse                        | a loss is worse than a repeat
        longer than the slowest run            | It must outlast the slowest normal run
        40 seconds against 30                  | With a lease of 30 s, a PDF that takes 40 s is rendered twice
        heartbeat                              | heartbeat
        the boundary, just before              | at 29.999 s the job is still hidden
        corrected: a late ack                  | The late worker's ack ends the job
        corrected: fail of an unknown job      | fail answers "dead" for a job that is not there
        corrected: the live record             | worker A's copy says attempt 2 as well
    """,
    "/idempotent-consumer": """
        what idempotent means                  | no difference how often it gets a message
        naturally idempotent                   | set the status of an order to shipped
        not so                                 | add 204 points
        the consumer remembers                 | keeps a list of the messages it is done with
        the amount                             | 2,042,500 kobo
        what earns a point                     | one for each full ₦100
        three times                            | arrives three times
        naive                                  | customer 7 has 612 points
        idempotent                             | customer 8 has 204
        the trick                              | the database itself refuses the second mark
        RETURNING                              | the first delivery gets the row back, every later one gets nothing
        mark after: credited again             | the points are saved and the mark is not, so they are credited again
        mark before: never credited            | the mark is saved, so nobody credits the points any more
        both or neither                        | both are undone, and the next delivery does both
        another system                         | no transaction can include it
        idempotency key                        | send the message id along as an idempotency key
        the provider ignores the repeat        | can recognise the repeat by it, and ignores it
    """,
    "/outbox": """
        two systems                            | no transaction covers both
        lost                                   | its message exists nowhere
        together                               | the order and a row with its message are one transaction
        the relay                              | publishes them and marks them as sent
        naive path                             | Order 1001 takes the naive way
        outbox path                            | Order 1002 takes the outbox
        run 1 marks nothing                    | Relay run 1 cannot publish
        run 2                                  | In run 2 the queue is back
        run 3                                  | Run 3 finds nothing to do
        one job left                           | One job is in the queue, for order 1002
        the statement                          | FOR UPDATE SKIP LOCKED
        a hundred at a time                    | LIMIT 100
        several relays                         | Several relays may run at once
        others skip                            | passes over what another relay has locked, without waiting
        any table is a queue                   | any table is a job queue
        a small system                         | a small system often needs no other
        relay is at least once too             | The relay delivers at least once, too
        published again                        | it publishes the row again, under the same id
        the queue ignores it, corrected        | only while it knows the id
        idempotent anyway                      | The safe answer is an idempotent consumer
        clean up                               | Some days later is soon enough
        corrected: enqueue before the commit   | looks for the order too early
    """,
    "/fan-out": """
        three teams                            | work for e-mail, for the warehouse and for loyalty
        the word                               | fan-out, or publish/subscribe
        own queue each                         | a job in its own queue
        slow warehouse                         | A slow warehouse delays no receipt
        failing loyalty                        | fail and retry alone
        published twice                        | when it is not sure that the first time worked
        one job each                           | One job for each subscriber is left
        derived ids                            | Their ids follow from the event's id
        in-process emitter                     | event emitter
        its weakness                           | If it crashes, or a listener raises an error, the event is gone
        durable queues                         | A queue keeps it
        order                                  | Order is not kept
        everything overtakes it                | newer ones overtake it
        corrected: overtakes nothing           | it overtakes newer ones too
        consumers without order                | consumers that do not care about the order
        versions                               | put a version into the message and ignore an older one
        Kafka                                  | Kafka keeps the order within a partition
        SQS FIFO                               | SQS FIFO queue within a message group
        per key and at a price                 | Between partitions or groups there is no order. Order costs throughput
    """,
    "/testing": """
        time is controlled                     | The tests give it a manual clock
        failure is controlled                  | Failure is a call
        direct calls                           | and then calls fail
        one promise each                       | its name says which promise is broken
        promise 1, doubles and caps            | 1 s, 2 s, 4 s, and then always 4 s
        promise 2, not before its retry time   | A failed job is not handed out before its time
        promise 3, dead after the last         | the second failure makes a dead letter
        promise 4, redelivered                 | At 29,999 ms nobody else may have the job
        promise 4, the boundary                | At 30,000 ms somebody must get it
        promise 5, same id                     | A producer may repeat itself under the same id
        handlers: deliver again                | two or three times, then count the effect
        the most expensive bug                 | it finds the mistake that costs the most
    """,
    "/production": """
        loses everything                       | Restart the program, and this queue is empty
        what it is good for                    | for learning, and for small work that nobody misses
        broker 1                               | PostgreSQL table with SKIP LOCKED
        broker 1, good                         | systems, small or medium, that run on PostgreSQL already
        broker 1, same transaction             | job and data in one transaction
        broker 1, mind                         | ask the database again and again; old rows must be deleted
        broker 2                               | BullMQ
        broker 2, good                         | many jobs a second, delays, repeated jobs, rate limits
        broker 2, mind                         | make Redis save to disk and never evict keys, or jobs are lost
        broker 3                               | RabbitMQ or Amazon SQS
        broker 3, good                         | work queues and fan-out between services
        broker 3, mind                         | dead-letter queues are built in
        broker 4                               | Kafka and other logs
        broker 4, good                         | many consumers read, and read again; order within a key
        broker 4, mind                         | each consumer keeps its own position
        metric 1                               | waiting jobs
        metric 2                               | age of the oldest job
        metric 2, why                          | the delay that customers feel
        metric 3                               | failure rate
        metric 4                               | size of the dead-letter queue | what waits for people
        backlog grows                          | consumers are too few or too slow
        SIGTERM                                | SIGTERM
        stop claiming                          | Claim no new job
        finish or give back                    | Finish the current job, or give it back
        then exit                              | Exit
        cut off halfway                        | comes back after its lease
        one more reason                        | one more reason for idempotent handlers
        small                                  | the id of the order, not the order
        fresh data                             | loads what is true now
        stale copies                           | carries no old copy
        safe                                   | No password, no card number, no token
        inspected                              | queues are logged, and people look into them
        validate                               | A message comes from outside, as the body of a request does
        even your own code                     | even if your own code wrote it
        older producers                        | An older version of the producer
        the library                            | @zudojs/queue
        what it packages                       | Typed jobs, workers, retries, backoff, dead letters and idempotency
        timetables                             | jobs that run by a timetable
    """,
    "/recap": """
        point 1                                | Queue what the answer does not need, what is slow, and what may fail
        point 1, fast                          | The request stays fast
        point 2                                | only an ack removes the job
        point 2, duplicates                    | duplicates belong to it
        point 3                                | exponential backoff, a cap and jitter
        point 3, dead letters                  | jobs without an attempt left go to the dead-letter queue
        point 4                                | Save the message id and the effect in one transaction
        point 4, keys                          | send the id along as an idempotency key
        point 5                                | Save the order and its message together, in an outbox
        point 5, relay                         | FOR UPDATE SKIP LOCKED
        point 6                                | one queue for each subscriber
        point 6, ids                           | an id that follows from the event's
        point 6, order                         | nobody relies on the order
        next there                             | how to take uploads and keep them, which is the next lesson there
        more: idempotency                      | idempotency, the whole subject at length
        more: payment gateway                  | a payment gateway
        more: events, messaging                | Events in a framework, and its messaging
        more: processes                        | event emitters, and what to do on a signal
        the source                             | Queues and background jobs
    """,
    "/practice": """
        three from the lesson                  | three from the lesson
        the first                              | Full jitter
        the second                             | An idempotent SMS consumer
        the third                              | Pick the guarantee
    """,
    "/practice/full-jitter": """
        all of the delay to chance             | a random delay between 0 and the doubled, capped delay
        doubled                                | The delay doubles with each attempt
        capped                                 | never more than cap_ms
        attempts 1 to 6, random 0, 0.5 and 1   | attempts 1 to 6, with a random that gives 0, 0.5 and 1
        random 0.5                             | 500, 1000, 2000, 4000, 8000, 10000
        random 1                               | 1000, 2000, 4000, 8000, 16000, 20000
    """,
    "/practice/sms-consumer?crash=twice": """
        one SMS for each message               | Send one SMS for each message
        delivered three times                  | even when the message is delivered three times
        once per id                            | holds the ids of the messages that are done
        a duplicate                            | duplicate, skipped
        record after the send                  | Record the id only after the provider has taken the SMS
        crash between the two                  | after the provider took the SMS and before the id is recorded
        two SMS                                | Right. 2 SMS went out
        not in one transaction                 | An SMS and a row in your database cannot be in one transaction
        an idempotency key                     | takes an idempotency key, pass the message's id
        else, rather twice than never          | a rare second SMS: that is far better than a lost one
    """,
    ANSWERED: """
        wallet                                 | ₦5,000 go into the seller's wallet
        wallet: once, in a transaction         | the id and the credit go into one transaction
        counter                                | counts the customers who are online now
        counter: at most once                  | A lost update is put right by the next one, seconds later
        reset link                             | E-mailing a password-reset link
        reset link: at least once              | A second mail is harmless when the link works once
        warehouse                              | The warehouse is told to pick an order
        warehouse: once per order              | Two messages can be about one order, so the key is the order's id
        all four                               | four jobs | bookkeeping that nobody needs is a cost
    """,
    "/quiz": """
        five, at random                        | Five questions, drawn at random
        four of five                           | Four right answers pass
        choose                                 | ask you to choose an answer
        predict                                | ask what a short program prints
        write code                             | ask for a small function, and your browser runs it
        if you don't pass                      | Read the explanations
        five others                            | You get five different questions
    """,
}


def rows():
    for address, lines in CHECKLIST.items():
        for line in filter(str.strip, lines.splitlines()):
            fact, _, ours = (part.strip() for part in line.partition("|"))
            yield pytest.param(address, ours, id=f"{address}: {fact}")


VOID = {"area", "br", "circle", "hr", "img", "input", "line", "link", "meta", "path", "rect", "use"}


class Words(HTMLParser):
    """The words of a page's prose, without the run above it: its summary, its article, its cards and its questions."""

    def __init__(self):
        super().__init__()
        self.depth, self.pieces = 0, []
        self.links, self.anchors = [], set()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors.add(attrs.get("id"))
        if self.depth and tag not in VOID:
            self.depth += 1
        elif {"prose", "lede", "glossary", "card", "questions"} & set((attrs.get("class") or "").split()):
            self.depth = 1
        if self.depth and tag == "a":
            self.links.append(attrs["href"])
        if tag in ("p", "li", "td", "h2", "h3", "details", "pre"):
            self.pieces.append(" ")

    def handle_endtag(self, tag):
        if self.depth and tag not in VOID:
            self.depth -= 1

    def handle_data(self, data):
        if self.depth:
            self.pieces.append(data)

    @property
    def text(self):
        return " ".join("".join(self.pieces).split())


@cache
def client():
    return create_app({"TESTING": True}).test_client()


@cache
def get(address):
    response = client().get(address)
    assert 200 == response.status_code, f"{address}: {response.status}"
    words = Words()
    words.feed(response.text)
    return words


def missing(ours, address):
    """The parts of a line of the checklist that the page does not say."""
    return [part for part in map(str.strip, ours.split("|")) if part not in get(address).text]


@pytest.mark.parametrize(("address", "ours"), list(rows()))
def test_what_the_lesson_says_is_on_the_page(address, ours):
    assert [] == missing(ours, address)


def test_what_a_page_does_not_say_is_missed():
    assert ["exactly seven times"] == missing("exactly seven times", "/retries")
    assert ["₦20,426"] == missing("Charge the card | ₦20,426", "/sync-checkout")


def test_most_lines_of_the_checklist_can_be_met_by_one_page_only():
    pages = list(CHECKLIST)
    lines = [row.values for row in rows() if row.values[0] in pages]
    at_home_only = [ours for home, ours in lines if not any(not missing(ours, page) for page in pages if page != home)]

    assert len(at_home_only) > 0.85 * len(lines)


@pytest.mark.parametrize("address", ["/", "/recap"])
def test_the_source_is_credited_with_its_address(address):
    assert SOURCE in get(address).links


# Links


@pytest.mark.parametrize("address", ["/", "/glossary", *(f"/{chapter.slug}" for chapter in contents.chapters())])
def test_every_link_of_a_page_leads_somewhere(address):
    page = get(address)
    for link in page.links:
        url = urlsplit(link)
        if url.scheme:
            assert "https" == url.scheme, link
            continue
        path = url.path or urlsplit(address).path
        there = get(f"{path}?{url.query}" if url.query else path)
        assert not url.fragment or url.fragment in there.anchors, f"{link}: {path} has no such place"


def test_each_step_that_a_text_names_is_the_one_it_links_to():
    for chapter in contents.chapters():
        for label, step in re.findall(r"\[step (\d+)\]\([^)]*?step=(\d+)\)", chapter.text):
            assert label == step, chapter.slug


# The glossary


def forms(term):
    word = re.escape(term.lower())
    return [word, f"{word}s"] + ([f"{word[:-1]}ies"] if word.endswith("y") else [])


def in_running_text(text):
    """A chapter's text without code, headings and other links: what a first use can stand in."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(#|\{\{).*$", "", text, flags=re.MULTILINE)
    return re.sub(r"(?<!\[)`[^`\n]*`(?!\])|\[[^\]]*\]\((?!/glossary#)[^)]*\)", "", text)


@pytest.mark.parametrize("chapter", contents.chapters(), ids=lambda chapter: chapter.slug)
def test_a_page_links_a_term_once_and_where_it_first_uses_it(chapter):
    links = re.findall(r"\]\(/glossary#([^)]+)\)", chapter.text)
    assert len(links) == len(set(links)), "a term is linked twice"
    if f"/{chapter.slug}" not in CHECKLIST:
        return  # the rest is for the pages of this checklist
    text = in_running_text(chapter.text).lower()
    words = "|".join(sorted((form for entry in glossary.entries() for form in forms(entry.term)), key=len)[::-1])
    linked = {}
    for found in re.finditer(rf"(?<![\w-])({words})(?![\w-])(`?\]\(/glossary#([^)]+)\))?", text):
        first = next(entry for entry in glossary.entries() if re.escape(found[1]) in forms(entry.term))
        assert linked.setdefault(first.anchor, found[3]) == first.anchor, f"{found[1]}: its first use has no link"


def test_each_term_of_the_glossary_is_used_by_a_chapter():
    assert [] == [entry.term for entry in glossary.entries() if not entry.chapters]


# The pages


@pytest.mark.parametrize(
    "address", [f"/{section.slug}" for section in contents.sections() if f"/{section.slug}" in CHECKLIST]
)
def test_a_page_goes_from_the_run_to_its_meaning_to_production_and_on(address):
    chapter = contents.chapter(address.strip("/"))

    assert [
        heading
        for heading in re.findall(r"^## (.+)$", chapter.text, re.MULTILINE)
        if heading not in ("Seven words", "Reason it out")
    ] == ["What happens here", "What to watch", "What it means", "In production", "Try it", "Next"]


def test_the_five_questions_have_folded_answers():
    text = contents.chapter("sync-checkout").text

    assert 5 == len(re.findall(r"^\*\*\d\. .+\?\*\*\n\n\{\{ fold Show the answer \}\}$", text, re.MULTILINE))


def public_names():
    for path in sorted((excerpts.LESSONS / "reference").glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                yield path.name, node


def test_every_public_function_and_class_of_the_reference_is_quoted():
    """A class counts if it is quoted whole or by its methods. What an exercise asks for is not given away."""
    quoted = {
        quote
        for chapter in contents.chapters()
        for quote in re.findall(r"^\{\{ code reference/(\S+) (\S+) \}\}$", chapter.text, re.MULTILINE)
    }
    unquoted = [
        f"{file} {node.name}"
        for file, node in public_names()
        if not any(file == other and name.split(".")[0] == node.name for other, name in quoted)
    ]

    assert ["backoff.py full_jitter"] == unquoted
