"""Every question of the quiz is proved: its answer by a run or a second calculation, its step by the page."""

import contextlib
import io
import re
import sys
import types
from collections import Counter
from math import ceil
from urllib.parse import parse_qsl, urlsplit

import pytest

from lessons import contents, params, quiz
from lessons.quiz import making
from webapp import create_app

SEEDS = range(5)
BANK = {family.id: family for family in quiz.families()}
KINDS = {"choose", "predict", "write"}


def of_kind(kind):
    return pytest.mark.parametrize("family", [f for f in quiz.families() if f.kind == kind], ids=lambda f: f.id)


each_family = pytest.mark.parametrize("family", quiz.families(), ids=lambda family: family.id)


def right(question):
    return next(option for option in question.options if option.right)


# The bank


def test_the_bank_is_large_and_covers_every_objective():
    bank = quiz.families()

    assert 60 <= len(bank) == len(BANK)
    assert {1, 2, 3, 4, 5, 6} == {family.objective for family in bank}
    assert 6 == len(quiz.OBJECTIVES)
    assert 6 <= min(Counter(family.objective for family in bank).values())


def test_there_are_enough_of_each_kind_and_enough_that_vary():
    kinds = Counter(family.kind for family in quiz.families())

    assert set(kinds) == KINDS
    assert 8 <= kinds["write"]
    assert len(BANK) // 5 <= min(kinds["write"], kinds["predict"])
    assert 20 <= sum(family.varies for family in quiz.families())


def test_every_objective_has_every_kind():
    pairs = {(family.objective, family.kind) for family in quiz.families()}

    assert {(objective, kind) for objective in range(1, 7) for kind in KINDS} == pairs


def test_all_misconceptions_are_covered():
    assert set(range(1, 26)) == {number for family in quiz.families() for number in family.misconceptions}


@each_family
def test_the_same_seed_makes_the_same_question(family):
    for seed in SEEDS:
        assert family.make(seed) == family.make(seed)


@each_family
def test_the_seed_changes_what_the_family_says_it_changes(family):
    questions = [family.make(seed) for seed in range(12)]
    contents = {
        (question.prompt, question.code, tuple(sorted(option.text for option in question.options)), question.expected)
        for question in questions
    }

    assert family.varies == (len(contents) > 1)
    if family.kind == "choose":
        assert len({right(question).key for question in questions}) > 1


@each_family
def test_a_question_has_the_parts_of_its_kind(family):
    question = family.make(0)

    assert (family.id, 0, family.kind, family.objective) == (
        question.family, question.seed, question.kind, question.objective
    )  # fmt: skip
    assert len(question.prompt) > 20
    assert len(question.explanation) > 40
    assert bool(question.options) == (family.kind == "choose")
    assert (question.expected is not None) == (family.kind == "predict")
    assert (None not in (question.starter, question.solution, question.check)) == (family.kind == "write")


# Proofs


@each_family
def test_the_proof_is_a_moment_of_a_run(family):
    for seed in SEEDS:
        address = urlsplit(family.make(seed).proof)
        given = dict(parse_qsl(address.query, strict_parsing=True))
        step = int(given.pop("step"))
        section = contents.section(address.path.removeprefix("/"))
        recording = making._recorded(section.slug, params.read(section.Params, given))

        assert 1 <= step <= len(recording.steps)
        assert not recording.limit_reached


def proved(question):
    """The run that the proof opens, and the step that it shows."""
    address = urlsplit(question.proof)
    given = dict(parse_qsl(address.query))
    number = int(given.pop("step"))
    section = contents.section(address.path.removeprefix("/"))
    steps = making._recorded(section.slug, params.read(section.Params, given)).steps
    return steps[:number]


@pytest.mark.parametrize("seed", range(15))
def test_an_answer_that_is_a_time_is_the_time_of_its_proof(seed):
    asked = [question for family in BANK.values() if (question := family.make(seed)).kind == "choose"]
    times = {question.family: right(question).text for question in asked if right(question).text.startswith("t=")}

    assert 7 <= len(times)
    assert times == {id: f"t={ms(proved(BANK[id].make(seed))[-1].at_ms)}" for id in times}


def counted(steps, kind):
    return len([step for step in steps if step.kind == kind])


# The steps up to the proof -> the right option's text, or its beginning.
SHOWN = {
    "the-worker-is-stopped": lambda steps: (
        "The three still wait. The fourth comes back"
        if steps[-1].state.queues[0].count("waiting") == 4 and steps[-1].kind == "lease expired"
        else ""
    ),
    "nobody-works": lambda steps: f"{steps[-1].state.queues[0].count('waiting')}",
    "job-that-kills-its-worker": lambda steps: (
        f"{counted(steps, 'claim')} deliveries, {steps[-1].state.queues[0].count('dead')} dead letters"
    ),
    "only-one-try": lambda steps: f"{counted(steps, 'claim')} times",
    "batches-of-the-relay": lambda steps: ", ".join(
        f"{found[2]} in run {found[1]}"
        for step in steps
        if (found := re.search(r"relay run (\d+): published ([1-9]\d*)$", step.printed or ""))
    ),
    "who-finishes-first": lambda steps: ", ".join(step.job for step in steps if step.kind == "ack"),
    "copies-in-a-queue": lambda steps: f"{steps[-1].state.queues[0].count('waiting')}",
    "one-job-for-all": lambda steps: f"{len([e for e in steps[-1].state.effects if 'receipt' in e.what])} receipts",
}


@pytest.mark.parametrize("id", SHOWN)
def test_the_proof_shows_the_right_answer_and_no_other(id):
    for seed in range(15):
        question = BANK[id].make(seed)
        shown = SHOWN[id](proved(question))
        texts = [option.text for option in question.options if re.match(re.escape(shown) + r"\b", option.text)]

        assert shown
        assert [right(question).text] == texts


def test_the_site_answers_at_every_proof():
    client = create_app().test_client()
    addresses = {family.make(0).proof for family in quiz.families()}

    assert {} == {address: status for address in addresses if (status := client.get(address).status_code) != 200}


# Choose


@of_kind("choose")
def test_one_option_is_right_and_no_two_are_the_same(family):
    for seed in range(15):
        question = family.make(seed)
        options = question.options

        assert 3 <= len(options) <= making.MOST_OPTIONS
        assert 1 == sum(option.right for option in options)
        assert len(options) == len({option.text.strip().lower() for option in options})
        assert list("abcd"[: len(options)]) == [option.key for option in options]
        assert all(len(option.why) > 10 for option in options)


@of_kind("choose")
def test_the_right_option_cannot_be_told_by_its_length(family):
    """In words it is never longer than all the others; where options have numbers in them it is not so every time."""
    questions = [family.make(seed) for seed in range(20)]
    longest = [
        len(right(question).text) > max(len(option.text) for option in question.options if not option.right)
        for question in questions
    ]

    if any(re.search(r"\d", option.text) for question in questions for option in question.options):
        assert not all(longest)
    else:
        assert not any(longest)


@of_kind("choose")
def test_the_right_key_alone_is_judged_right(family):
    question = family.make(3)

    for option in question.options:
        assert quiz.Verdict(option.right, option.why) == quiz.judge(question, option.key)


def test_a_key_that_is_not_there_is_refused_with_those_that_are():
    question = BANK["which-is-an-event"].make(0)

    with pytest.raises(ValueError, match='answer must be one of a, b, c, d, not "e"'):
        quiz.judge(question, "e")


def ms(value):
    return f"{value / 1_000:.3f}".rstrip("0").rstrip(".") + " s"


def at(seconds):
    return f"t={ms(round(seconds * 1_000))}"


def doubled(base, cap, attempt):
    return min(cap, base * 2 ** (attempt - 1))


def first_time_after(back, base):
    """When the first attempt comes that is not before `back`."""
    now, attempt = 0, 1
    while now < back:
        now, attempt = now + doubled(base, 60, attempt), attempt + 1
    return now


def lost_in_hand(most, number):
    """Of ten jobs, taken `most` at a time: those taken and not done when the worker dies in job `number`."""
    taken = min(10, ceil(number / most) * most)
    return taken - (number - 1)


def finishing_order(first, second, third):
    ends = {"job-1": first, "job-2": second}
    ends["job-3"] = min(first, second) + third
    return ", ".join(sorted(ends, key=ends.get))


# The numbers of the prompt, in order -> the right option's text. Written anew, without a queue.
CALCULATED = {
    "wait-in-the-request": lambda card, pdf, mail: f"{card + pdf + mail} ms",
    "wait-with-a-queue": lambda card, pdf, mail: f"“201 order placed” after {card} ms",
    "how-many-at-once": lambda jobs, workers, each: f"{workers * each}",
    "last-job-is-done": lambda jobs, takes, workers, *_: at(ceil(jobs / workers) * takes),
    "nobody-works": lambda minutes: f"{minutes}",
    "next-pause": lambda base, cap, attempt, _: ms(round(1_000 * doubled(base, cap, attempt))),
    "pause-with-equal-jitter": lambda base, cap, attempt: (
        f"between {ms(500 * doubled(base, cap, attempt))} and {ms(1_000 * doubled(base, cap, attempt))}"
    ),
    "first-success": lambda start, base, cap, attempts, back: at(first_time_after(back, base)),
    "calls-for-max-attempts": lambda most: f"{most} times",
    "three-clocks": lambda timeout, lease, pause, start, crash: at(lease),
    "a-very-long-lease": lambda lease, crash: ms(1_000 * (lease - crash)),
    "not-before": lambda start, due, *_: at(ceil(due)),
    "given-up-in-the-outage": lambda most, base, cap, start: at(sum(doubled(base, cap, n) for n in range(1, most))),
    "calls-for-two-bad-jobs": lambda most, *_: f"{most + 1} times",
    "job-that-kills-its-worker": lambda most, lease, start, end: f"{end // lease + 1} deliveries, 0 dead letters",
    "limit-at-the-claim": lambda most, lease, start: at(most * lease),
    "retries-inside-retries": lambda most, tries, status: f"{most * tries}",
    "slower-than-the-lease": lambda lease, work, start: (
        f"2 receipts: at {ms(1_000 * work)} and {ms(1_000 * (lease + work))}"
    ),
    "acked-too-early": lambda most, number: f"{lost_in_hand(most, number)}",
    "id-is-free-again": lambda remember, *rest: at(remember + rest[2]),
    "points-of-the-naive": lambda amount, each, deliveries: (
        f"naive {amount // each * deliveries}, idempotent {amount // each}"
    ),
    "batches-of-the-relay": lambda rows, batch, back: f"{batch} in run {back}, {rows - batch} in run {back + 1}",
    "claim-of-a-dead-relay": lambda claimed, lasts: at(claimed + lasts),
    "orders-and-receipts": lambda rows: f"{rows + 1} orders, {rows} receipts",
    "two-readers-of-one-queue": lambda events: f"{events // 2} receipts, {events // 2} picks",
    "one-job-for-all": lambda failures: f"{failures + 1} receipts",
    "a-queue-for-each": lambda *numbers: f"1 receipt, points at {at(2 ** numbers[5] - 1)}",
    "slow-warehouse": lambda orders, start, pick: f"receipt at t=0 s, pick at {at(orders * pick)}",
    "who-finishes-first": lambda _1, first, _2, second, _3, third: finishing_order(first, second, third),
    "copies-in-a-queue": lambda orders, *_: f"{orders}",
}


def numbers(prompt):
    found = [number.replace(",", "") for number in re.findall(r"\d[\d,]*(?:\.\d+)?", prompt)]
    return [float(number) if "." in number else int(number) for number in found]


@pytest.mark.parametrize("id", CALCULATED)
def test_a_second_calculation_gives_the_marked_answer(id):
    for seed in range(15):
        question = BANK[id].make(seed)

        assert CALCULATED[id](*numbers(question.prompt)) == right(question).text, question.prompt


# What words in a prompt decide. The first of each row that stands in the prompt counts.
SAID = {
    "replayed-and-then": [("The renderer has been fixed", "1"), ("Nobody has changed anything", "2")],
    "published-and-not-marked": [
        ("no worker has claimed", "1 receipt"),
        ("remembers ids for 5 minutes", "1 receipt"),
        ("only while its job is in the queue", "2 receipts"),
    ],
    "order-not-found": [
        ("a permanent error", "none: the job is a dead letter"),
        ("a transient error", "one, at the second attempt"),
    ],
    "published-once-more": [("remember an id for 5 minutes", "1 receipt"), ("forget an id", "2 receipts")],
}


@pytest.mark.parametrize("id", SAID)
def test_the_case_in_the_prompt_decides_the_marked_answer(id):
    cases = set()
    for seed in range(15):
        question = BANK[id].make(seed)
        words, answer = next((words, answer) for words, answer in SAID[id] if words in question.prompt)
        cases.add(words)

        assert answer == right(question).text

    assert {words for words, _ in SAID[id]} == cases


def test_a_crash_between_two_writes_costs_what_their_order_says():
    for seed in range(25):
        question = BANK["crash-between-mark-and-points"].make(seed)
        points = numbers(question.prompt)[0]
        first = "the mark first" in question.prompt
        expected = points if "in one transaction" in question.prompt else 0 if first else 2 * points

        assert f"{expected}" == right(question).text


def test_every_choice_that_varies_is_calculated_twice():
    twice = {*CALCULATED, *SAID, "crash-between-mark-and-points"}

    assert twice == {family.id for family in quiz.families() if family.kind == "choose" and family.varies}


# Predict


@of_kind("predict")
def test_the_expected_text_is_what_the_program_prints(family):
    for seed in SEEDS:
        question = family.make(seed)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(question.code, {"__name__": "__main__"})

        assert out.getvalue() == question.expected


@of_kind("predict")
def test_a_program_to_predict_is_short_and_prints_little(family):
    for seed in SEEDS:
        question = family.make(seed)
        lines = [line for line in question.code.splitlines() if line.strip()]

        assert 10 <= len(lines) <= 25
        assert max(map(len, lines)) <= 120
        assert 1 <= len(question.expected.splitlines()) <= 6


@of_kind("predict")
def test_a_prediction_is_judged_line_by_line(family):
    question = family.make(1)
    lines = question.expected.splitlines()

    assert quiz.judge(question, question.expected).right
    assert quiz.judge(question, "  \r\n".join(lines) + " \n\n\n").right
    for number in range(1, len(lines) + 1):
        wrong = [*lines[: number - 1], "something else", *lines[number:]]

        assert f"Line {number} differs" in quiz.judge(question, "\n".join(wrong)).why
    assert f"Line {len(lines)} is missing" in quiz.judge(question, "\n".join(lines[:-1])).why
    assert f"Line {len(lines) + 1} is too much" in quiz.judge(question, "\n".join([*lines, "and more"])).why
    for answer in ("", "\n".join(lines[:-1]), "\n".join([*lines, "and more"])):
        assert not quiz.judge(question, answer).right


# Write


def checked(question, code):
    """None, or what the check has to say about the code."""
    namespace, checker = {}, {}
    exec(code, namespace)
    exec(question.check, checker)
    try:
        checker["check_names"](namespace)
    except AssertionError as error:
        return str(error)
    return None


@of_kind("write")
def test_the_solution_passes_and_is_small(family):
    question = family.make(0)

    assert checked(question, question.solution) is None
    assert 2 <= len([line for line in question.solution.splitlines() if line.strip()]) <= 14


@of_kind("write")
def test_the_starter_fails_with_a_message_to_read(family):
    question = family.make(0)
    message = checked(question, question.starter)

    assert message is not None
    assert len(message) > 20
    assert message[0].isupper() or "(" in message or message.startswith("base")
    assert message.endswith(".")


@of_kind("write")
def test_code_without_the_function_or_with_a_bug_gets_a_message_too(family):
    question = family.make(0)
    name = re.findall(r"^def (\w+)\(", question.solution, re.MULTILINE)[-1]

    assert f"There is no function {name}" in checked(question, "")
    assert checked(question, f"def {name}(*args):\n    return None\n")
    assert checked(question, f"def {name}(*args):\n    return 1 / 0\n")


@of_kind("write")
def test_the_page_is_told_a_verdict_on_the_program_that_has_run(family, monkeypatch):
    question, program, checker = family.make(0), types.ModuleType("__main__"), {}
    exec(question.check, checker)
    monkeypatch.setitem(sys.modules, "__main__", program)
    missing = checker["check"](question.starter)
    exec(question.solution, program.__dict__)

    assert (False, True) == (missing.solved, checker["check"](question.solution).solved)
    assert "There is no function" in missing.got


# family -> (what stands in the solution, what a learner might write instead)
NEAR_MISSES = {
    "thin-payload": [('f"order-{order_id}-receipt"', "None"), ('{"order_id": order_id}', "order")],
    "oldest-job": [("min(", "max("), (", default=now_ms", "")],
    "next-delay": [("(attempt - 1)", "attempt"), ("min(cap_ms, ", "(")],
    "full-jitter": [("random() * ceiling_ms", "ceiling_ms / 2 + random() * ceiling_ms / 2")],
    "may-be-claimed": [
        ('"leased_until_ms"] <= now', '"leased_until_ms"] < now'),
        ('"run_at_ms"] <= now', '"run_at_ms"] < now'),
        (" and ", " or "),
    ],
    "permanent-or-not": [(" and status not in (408, 429)", ""), ("(408, 429)", "(429,)"), ("< 500", "< 600")],
    "retry-or-dead": [(">=", ">"), ("permanent or ", "")],
    "refuse-a-bad-address": [('if "@" not in email:', "if not email:")],
    "handle-once": [
        ('    send(message["phone"])\n    processed.add(message["id"])',
         '    processed.add(message["id"])\n    send(message["phone"])'),
        ('message["id"]', 'message["phone"]'),
    ],
    "credit-once": [("with transaction(db):", "if True:"), ("            return\n", "            pass\n")],
    "idempotency-key": [('key=message["id"]', "key=object()"), ('key=message["id"]', 'key=message["phone"]')],
    "save-both": [("with transaction(db):", "if True:")],
    "mark-after-publishing": [
        ('        if row["sent"]:\n            continue\n', ""),
        ("except Exception:\n            continue", "except Exception:\n            pass"),
        ("except Exception:\n            continue", "except Exception:\n            break"),
    ],
    "rows-to-publish": [
        ("<= now_ms", "< now_ms"),
        (' and row["claimed_until_ms"] <= now_ms', ""),
        ('row["sent_at_ms"] is None and ', ""),
    ],
    "newer-only": [(">", ">="), (">", "<")],
    "ids-of-the-copies": [('f"{event_id}:{name}"', "event_id"), ('f"{event_id}:{name}"', "name")],
}  # fmt: skip


@of_kind("write")
def test_a_near_miss_does_not_pass(family):
    question = family.make(0)

    for old, new in NEAR_MISSES[family.id]:
        assert old in question.solution
        assert checked(question, question.solution.replace(old, new)), new


@of_kind("write")
def test_code_to_write_is_not_judged_by_its_text(family):
    with pytest.raises(ValueError, match="judged by its check"):
        quiz.judge(family.make(0), "def solve(): pass")


# Drawing


def follows_the_rule(questions):
    return (
        5 == len(questions) == len({question.family for question in questions})
        and {question.kind for question in questions} == KINDS
        and len({question.objective for question in questions}) >= 4
    )


def test_a_draw_has_five_questions_of_all_kinds_from_at_least_four_objectives():
    for seed in range(40):
        assert follows_the_rule(quiz.draw(seed))


def test_the_same_seed_draws_the_same_and_others_draw_others():
    drawn = [tuple(question.family for question in quiz.draw(seed)) for seed in range(10)]

    assert quiz.draw(7) == quiz.draw(7)
    assert len(set(drawn)) == 10
    assert len({families[0] for families in drawn}) > 3


@pytest.mark.parametrize("start", range(3))
def test_draws_that_avoid_what_was_drawn_use_up_the_bank_before_they_repeat(start):
    seen = set()
    for turn in range(len(BANK) // 5):
        questions = quiz.draw(1_000 * start + turn, frozenset(seen))
        families = {question.family for question in questions}

        assert follows_the_rule(questions)
        assert not families & seen
        seen |= families

    for turn in range(2):  # the few that are left come first now, as far as the rule lets them
        questions = quiz.draw(1_000 * start + 100 + turn, frozenset(seen))

        assert follows_the_rule(questions)
        seen |= {question.family for question in questions}

    assert set(BANK) == seen


def test_when_all_is_avoided_or_a_kind_is_used_up_the_avoided_come_back():
    writes = {family.id for family in quiz.families() if family.kind == "write"}
    without_writes = quiz.draw(1, frozenset(writes))

    assert follows_the_rule(quiz.draw(1, frozenset(BANK)))
    assert follows_the_rule(without_writes)
    assert 1 == sum(question.family in writes for question in without_writes)


def test_names_that_are_no_families_are_avoided_in_vain():
    assert follows_the_rule(quiz.draw(1, frozenset({"gone-since", ""})))


# The helpers


def test_a_wrong_rule_that_gives_the_right_value_leaves_its_place_to_another():
    family = making.Family("f", 1, "choose", (), False, lambda: making.Choose(
        "?", ("2", "yes"), [("2", "no"), ("3", "no"), ("3", "no"), ("4", "no"), ("5", "no"), ("6", "no")], "", ""
    ))  # fmt: skip

    assert {"2", "3", "4", "5"} == {option.text for option in family.make(0).options}


def test_a_question_with_too_few_different_options_is_refused():
    family = making.Family("f", 1, "choose", (), False, lambda: making.Choose("?", ("2", "yes"), [("2", "no")], "", ""))

    with pytest.raises(ValueError, match="too few different options"):
        family.make(0)


def test_a_step_that_is_not_in_the_run_is_not_found():
    with pytest.raises(LookupError, match="redelivery"):
        making.proof("redelivery", "claim", nth=3)
