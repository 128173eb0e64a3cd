"""The exercises: solutions pass, starters and usual mistakes fail, and the failure is short and readable."""

import contextlib
import importlib
import io
import json
import re
import subprocess
import sys
from itertools import combinations, product
from pathlib import Path

import pytest

from lessons import checking, exercises, params
from lessons.checking import Diary, Verdict, Wrong, judge, shrink, simplify

ROOT = Path(__file__).resolve().parents[2]
WITH_CODE = [exercise for exercise in exercises.exercises() if exercise.code]
WITH_QUESTIONS = [exercise for exercise in exercises.exercises() if exercise.questions]
each_code = pytest.mark.parametrize("exercise", WITH_CODE, ids=lambda exercise: exercise.slug)
each_question = pytest.mark.parametrize("exercise", WITH_QUESTIONS, ids=lambda exercise: exercise.slug)

# (exercise, what is wrong, the text of the solution that is replaced, by what, the most steps to show it)
MISTAKES = [
    ("full-jitter", "no cap", "min(cap_ms, base_ms * 2 ** (attempt - 1))", "base_ms * 2 ** (attempt - 1)", 2),
    ("full-jitter", "attempts from 0", "2 ** (attempt - 1)", "2 ** attempt", 2),
    ("full-jitter", "half of it is certain", "random() * longest_ms", "longest_ms / 2 + random() * longest_ms / 2", 2),
    ("full-jitter", "Python's round", "return round_half_up(", "return round(", 2),
    (
        "full-jitter",
        "cap after the chance",
        "random() * longest_ms",
        "min(cap_ms, random() * base_ms * 2 ** (attempt - 1))",
        2,
    ),
    (
        "sms-consumer",
        "recorded before it is sent",
        'skipped"\n',
        'skipped"\n        self.processed.add(message.id)\n',
        2,
    ),
    ("sms-consumer", "never recorded", "self.processed.add(message.id)", "pass", 2),
    ("sms-consumer", "known by the order", "message.id", "str(message.order_id)", 2),
    ("sms-consumer", "a set of its own", "self.processed = processed", "self.processed = set()", 3),
    ("limit-deliveries", "one delivery too many", ">= self.options.max_attempts", "> self.options.max_attempts", 6),
    ("limit-deliveries", "one delivery too few", ">= self.options", ">= -1 + self.options", 4),
    (
        "limit-deliveries",
        "stops after a burial",
        "                    continue\n",
        "                    return None\n",
        7,
    ),
    ("limit-deliveries", "still in the queue", "del self.jobs[job.id]", "pass", 6),
    ("limit-deliveries", "changed while it is walked", "list(self.jobs.values())", "self.jobs.values()", 7),
    ("limit-deliveries", "no reason is noted", 'job.last_error = "lease expired"', "pass", 6),
    (
        "limit-deliveries",
        "a running job is buried",
        "if job.run_at_ms <= now and job.leased_until_ms <= now:\n                if job.attempts",
        "if job.run_at_ms <= now:\n"
        "                if job.leased_until_ms > now and job.attempts < self.options.max_attempts:\n"
        "                    continue\n"
        "                if job.attempts",
        5,
    ),
    ("refuse-a-stale-ack", "the id is the receipt", 'f"{job.id}#{self.claims}"', "job.id", 5),
    ("refuse-a-stale-ack", "the attempt is the receipt", "{job.id}#{self.claims}", "{job.id}#{job.attempts}", 6),
    ("refuse-a-stale-ack", "old receipts go on counting", "self._forget(job.id)", "pass", 5),
    (
        "refuse-a-stale-ack",
        "fail is not guarded",
        '"lost" if id is None else self.queue.fail(id, error)',
        "self.queue.fail(receipt.split('#')[0], error)",
        4,
    ),
    (
        "renew-a-lease",
        "renewed once",
        "        if not queue.renew(job.receipt):",
        "        if page == 1 and not queue.renew(job.receipt):",
        4,
    ),
    (
        "renew-a-lease",
        "the answer is not heeded",
        "if not queue.renew(job.receipt):",
        "if queue.renew(job.receipt) is None:",
        3,
    ),
    (
        "renew-a-lease",
        "acked before the work",
        "    for page in pages:",
        "    queue.ack(job.receipt)\n    for page in pages:",
        1,
    ),
    (
        "renew-a-lease",
        "done in any case",
        "return queue.ack(job.receipt)",
        'queue.ack(job.receipt)\n    return "lost"',
        2,
    ),
    ("replay-dead-letters", "a new id", "letter.payload, id)", "letter.payload)", 4),
    ("replay-dead-letters", "the letter stays", "queue.dead.remove(letter)", "pass", 4),
    (
        "replay-dead-letters",
        "a letter is lost",
        "    if id in queue.jobs:\n        return False  # enqueue would drop the letter without a word\n",
        "",
        5,
    ),
    (
        "replay-dead-letters",
        "the old budget",
        "queue.enqueue(letter.type, letter.payload, id)",
        "letter.leased_until_ms, queue.jobs[id] = 0, letter",
        4,
    ),
    (
        "relay-past-a-bad-row",
        "the reading is outside the try",
        "        try:\n            publish(type, json.loads(payload)",
        "        payload = json.loads(payload)\n        try:\n            publish(type, payload",
        2,
    ),
    ("relay-past-a-bad-row", "an outage counts as a bad row", "            raise  #", "            continue  #", 3),
    (
        "relay-past-a-bad-row",
        "marked before it is published",
        "        try:\n            publish",
        '        db.execute("UPDATE outbox SET sent_at_ms = ? WHERE id = ?", (now_ms, id))\n'
        "        try:\n            publish",
        3,
    ),
    ("relay-past-a-bad-row", "tried at once", " AND try_at_ms <= ?", " AND ? > 0", 3),
    (
        "relay-past-a-bad-row",
        "one transaction for all",
        "    published = 0\n",
        '    published = 0\n    db.execute("BEGIN")\n',
        3,
    ),
]


def check(exercise, source):
    return importlib.import_module(exercise.code.check).check(source)


@each_code
def test_the_solution_holds_in_all_schedules(exercise):
    verdict = check(exercise, exercise.code.solution)

    assert Verdict(True, verdict.tried) == verdict
    assert verdict.tried > checking.RANDOM_SCHEDULES


@each_code
def test_the_starter_fails_in_a_few_steps(exercise):
    verdict = check(exercise, exercise.code.starter)

    assert not verdict.solved
    assert 1 <= len(verdict.steps) <= 6
    assert verdict.expected != verdict.got
    assert "NotImplemented" not in verdict.got


@pytest.mark.parametrize(
    ("slug", "what", "right", "wrong", "most"), MISTAKES, ids=[f"{slug}: {what}" for slug, what, *_ in MISTAKES]
)
def test_a_usual_mistake_is_caught_in_few_steps(slug, what, right, wrong, most):
    solution = exercises.exercise(slug).code.solution
    assert right in solution
    verdict = check(exercises.exercise(slug), solution.replace(right, wrong))

    assert not verdict.solved, what
    assert len(verdict.steps) <= most, verdict.steps


def test_every_code_exercise_has_at_least_two_usual_mistakes():
    caught = [slug for slug, *_ in MISTAKES]

    assert [] == [exercise.slug for exercise in WITH_CODE if caught.count(exercise.slug) < 2]


@each_code
def test_the_same_code_gets_the_same_verdict(exercise):
    first, again = (check(exercise, exercise.code.starter) for _ in range(2))

    assert first == again


@each_code
def test_the_programs_print_and_the_solution_prints_what_is_expected(exercise):
    def printed(source):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile(source, "exercise.py", "exec"), {"__name__": "__main__"})
        return output.getvalue()

    assert printed(exercise.code.starter)
    assert exercise.code.expected in ("", printed(exercise.code.solution))


def test_the_lessons_own_exercises_come_first_and_two_of_them_print():
    first = exercises.exercises()[:3]

    assert ["full-jitter", "sms-consumer", "pick-the-guarantee"] == [exercise.slug for exercise in first]
    assert [True, True] == [bool(exercise.code.expected) for exercise in first[:2]]
    assert 5 == len(exercises.exercises()[3:])


@pytest.mark.parametrize("exercise", exercises.exercises(), ids=lambda exercise: exercise.slug)
def test_an_exercise_has_a_task_hints_and_an_explanation(exercise):
    assert re.fullmatch(r"[^#{]*[.?!]", exercise.summary)
    assert exercise.task
    assert 3 <= len(exercise.hints) <= 5
    assert exercise.afterwards


def test_an_error_of_the_piece_is_told_with_its_line():
    def play(piece, schedule, diary):
        diary.step("the piece is called", "1", piece)

    verdict = judge("def piece():\n    return 1 / 0\n", "piece", play, [(("go",),)], lambda chance: (("go",),))

    assert ("1", "ZeroDivisionError was raised, line 2: division by zero") == (verdict.expected, verdict.got)


@pytest.mark.parametrize("exits", ["exit(2)", "exit()"])
def test_a_piece_that_leaves_python_is_wrong_and_not_unjudged(exits):
    def play(piece, schedule, diary):
        diary.step("the piece is called", "1", piece)

    def unseen(piece, schedule, diary):
        piece()

    source = f"from sys import exit\ndef piece():\n    {exits}\n"
    verdicts = [judge(source, "piece", one, [(("go",),)], lambda chance: (("go",),)) for one in (play, unseen)]

    assert [False, False] == [verdict.solved for verdict in verdicts]
    assert all(verdict.got.startswith("SystemExit was raised, line 3") for verdict in verdicts)


@pytest.mark.parametrize(
    ("end", "error"), [("sys.exit()", None), ("sys.exit(0)", None), ("sys.exit(2)", "SystemExit: 2")]
)
def test_a_program_that_ends_by_an_exit_is_judged_and_one_that_says_it_failed_is_told_so(end, error):
    code = exercises.exercise("full-jitter").code
    job = {"source": f"{code.solution}\nimport sys\n{end}", "check": code.check}
    run = [sys.executable, "-B", "-c", "import runner, sys; print(runner.run(sys.argv[1]))", json.dumps(job)]
    environment = {"PYTHONPATH": str(ROOT)}
    output = subprocess.check_output(run, cwd=ROOT / "static" / "py", env=environment, text=True)
    result = json.loads(output.splitlines()[-1])

    assert [error is None, error] == [bool(result["verdict"]), result["error"] and result["error"].splitlines()[-1]]


def test_a_piece_that_is_not_there_is_named():
    verdict = judge("other = 1", "piece", lambda *_: None, [], lambda chance: ())

    assert ("something called piece in the code", "there is nothing of that name") == (
        verdict.expected,
        verdict.got,
    )


def test_what_the_piece_prints_in_the_steps_is_kept():
    def play(piece, schedule, diary):
        diary.step("the piece is called", "1", piece)

    source = "def piece():\n    print('here')\n    return 2\n"

    assert "here\n" == judge(source, "piece", play, [(("go",),)], lambda chance: (("go",),)).printed


def test_nothing_of_a_schedule_is_left_over_for_the_next():
    def play(piece, schedule, diary):
        for _ in schedule:
            diary.step("the piece is called", "1", piece)

    source = "calls = []\ndef piece():\n    calls.append(1)\n    return len(calls)\n"

    assert judge(source, "piece", play, [(("go",),)] * 3, lambda chance: (("go",),)).solved


def test_no_handler_of_the_piece_hides_that_it_is_wrong():
    def fail():
        raise Wrong("a", "b")

    with pytest.raises(Wrong), contextlib.suppress(Exception):
        Diary().step("the piece is called", "1", fail)


def test_the_simplest_values_that_show_the_fault_are_told():
    full_jitter = exercises.exercise("full-jitter")
    verdict = check(full_jitter, full_jitter.code.solution.replace("random() *", "0.5 *"))

    assert [
        "full_jitter(base_ms=1000, cap_ms=20000, random) is called",
        "random gives 1, and the backoff is asked for attempt 1",
    ] == list(verdict.steps)


def test_a_value_is_replaced_by_the_first_of_those_known_that_still_fails():
    known = [(("go", 5, "a"),), (("go", 7, "b"), ("stop", 1)), (("go", 9, "c"),)]
    found = simplify(lambda schedule: schedule[0][1] > 5 and schedule[0][2] != "a", (("go", 9, "c"),), known)

    assert (("go", 7, "b"),) == found


@pytest.mark.parametrize("needed", list(combinations(range(6), 3)))
def test_shrinking_keeps_what_is_needed_and_nothing_else(needed):
    schedule = tuple((number,) for number in range(6))
    found = shrink(lambda part: {(number,) for number in needed} <= set(part), schedule)

    assert tuple((number,) for number in needed) == found


def decide(exercise, **given):
    return exercise.questions.decide(params.read(exercise.questions.Params, given))


def options(exercise):
    return {field.name: dict(field.kind.options) for field in params.fields(exercise.questions.Params)}


@each_question
def test_every_question_has_an_answer_that_is_right_and_one_that_is_not(exercise):
    choices = options(exercise)
    for group in exercise.questions.groups:
        picks = product(*([value for value in choices[name] if value != "open"] for name in group.fields))
        given = [dict(zip(group.fields, pick, strict=True)) for pick in picks]
        verdicts = {a.right for one in given for a in decide(exercise, **one) if a.group == group.name}

        assert {True, False} == verdicts


def test_a_crash_between_sending_and_recording_sends_a_second_sms():
    sms = exercises.exercise("sms-consumer")

    assert [True, False, False] == [decide(sms, crash=answer)[0].right for answer in ("twice", "once", "lost")]


@pytest.mark.parametrize(
    ("job", "delivery", "consumer"),
    [
        ("wallet", "at-least-once", "message-id"),
        ("online", "at-most-once", "nothing"),
        ("reset", "at-least-once", "single-use"),
        ("warehouse", "at-least-once", "order-id"),
    ],
)
def test_the_guarantees_are_those_of_the_lesson(job, delivery, consumer):
    guarantee = exercises.exercise("pick-the-guarantee")
    (answer,) = decide(guarantee, **{job: delivery, f"{job}_consumer": consumer})

    assert answer.right


def test_a_wrong_guarantee_is_answered_with_a_run_that_shows_it():
    guarantee = exercises.exercise("pick-the-guarantee")
    (answer,) = decide(guarantee, wallet="at-least-once", wallet_consumer="nothing")

    assert not answer.right
    assert "a crash after the effect" in answer.words
    assert "in the end: ₦5,000 credited, 2 times" == answer.steps[-1]
    (lost,) = decide(guarantee, wallet="at-most-once", wallet_consumer="message-id")
    assert "in the end: ₦5,000 credited, 0 times" == lost.steps[-1]


def test_a_half_answered_question_is_not_judged():
    assert [] == decide(exercises.exercise("pick-the-guarantee"), wallet="at-least-once")
