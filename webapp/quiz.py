"""The quiz: attempts of five questions, a page each, decided here and kept for the learner."""

import json
import secrets
from functools import cache, lru_cache
from typing import Any

from flask import Blueprint, Response, redirect, render_template, request
from itsdangerous import BadSignature, URLSafeSerializer

from lessons import contents, params, quiz
from webapp import listing, pages, progress, prose
from webapp.asked import BadQuery, NotThere, only_form
from webapp.progress import private, remember, store, token
from webapp.store import Attempt, Drawn, Full, Unusable, now

RULES = {"questions": quiz.DRAWN, "passes": quiz.PASS, "longest_answer": quiz.LONGEST_ANSWER}  # for the templates
LOOSE_BYTES = 400  # of an answer that has to fit into an address, with four others
# Attempts that cannot be stored live in their own address, signed: nobody writes their own results there.
signed = URLSafeSerializer(secrets.token_bytes(32), "quiz")

bp = Blueprint("quiz", __name__)
bp.after_request(private)


@bp.get("/quiz")
def start_page() -> str:
    usable = True
    attempts: tuple[Attempt, ...] = ()
    try:
        with store().reading(token()) as learner:
            attempts = learner.attempts() if learner else ()
    except Unusable:
        usable = False
    page = pages.way(contents.chapter("quiz"))
    return render_template("quiz.html", attempts=attempts, open=_open(attempts), usable=usable, **page)


@bp.post("/quiz")
def start() -> Response:
    """A new attempt, or the one that is open: two tabs and two clicks begin only one."""
    try:
        with store().reading(token()) as known:
            attempts = known.attempts() if known else ()
        drawn = () if _open(attempts) else _draw(attempts)  # takes a while, so before others have to wait
        with store().writing(token()) as learner:
            attempt = _open(learner.attempts()) or learner.add(drawn or _draw(attempts))
    except (Unusable, Full):
        return redirect(f"/quiz/{_loose(Attempt('', now(), _draw(())))}/1", 303)  # type: ignore[return-value]
    return remember(redirect(f"/quiz/{attempt.id}/{attempt.first_open}", 303), learner)  # type: ignore[arg-type]


@bp.get("/quiz/<id>")
def result(id: str) -> str:
    attempt = _attempt(id)
    again: dict[int, list[tuple[int, str]]] = {}
    for number, drawn in enumerate(attempt.questions, start=1):
        if drawn.right is False:
            question = _question(drawn)
            again.setdefault(drawn.objective, []).append((number, question.proof if question else ""))
    read = [(_objective(objective), numbers) for objective, numbers in sorted(again.items())]
    return render_template("quiz_result.html", attempt=attempt, again=read, title_of=progress.title_of)


@bp.get("/quiz/<id>/<number>")
def question(id: str, number: str) -> str:
    attempt = _attempt(id)
    return render_template("quiz_question.html", **_page(attempt, _number(attempt, number)))


@bp.post("/quiz/<id>/<number>")
def answer(id: str, number: str) -> Response:
    attempt = _attempt(id)
    nth = _number(attempt, number)
    only_form("answer", "outcome")
    drawn = attempt.questions[nth - 1]
    if drawn.right is None:
        try:
            text, right = _judged(drawn)
        except params.Invalid as error:
            page = {**_page(attempt, nth), "problem": str(error)}
            title = "This answer cannot be taken"
            raise BadQuery(error.problems, title, "quiz_question.html", page) from None
        if attempt.kept:
            with store().writing(token()) as learner:
                learner.answer(int(attempt.id), nth, text, right)
        else:
            fits = len(json.dumps(text)) <= LOOSE_BYTES
            id = _loose(attempt.answered(nth, text if fits else "", right))
    return redirect(f"/quiz/{id}/{nth}#verdict", 303)  # type: ignore[return-value]


def _judged(drawn: Drawn) -> tuple[str, bool]:
    """The answer in the request, and whether it is right; params.Invalid for one that cannot be taken."""
    text, question = request.form.get("answer", "").replace("\r\n", "\n"), _question(drawn)
    if question is None:
        message = "This question is no longer in the quiz; start a new attempt"
        raise _wrong("answer", text, "to a question of the quiz", message)
    if len(text) > quiz.LONGEST_ANSWER:
        allowed = f"at most {quiz.LONGEST_ANSWER:,} characters"
        raise _wrong("answer", text, allowed, f"answer must have {allowed}, not {len(text):,}")
    if question.kind == "write":
        outcome = request.form.get("outcome", "")
        if outcome not in ("passed", "given up"):
            message = "outcome must be passed or given up; press Run and check, which needs JavaScript"
            raise _wrong("outcome", outcome, "passed or given up", message)
        return text, outcome == "passed"  # it was run in the learner's browser, whose word this is
    allowed = f"one of {', '.join(o.key for o in question.options)}" if question.options else "what is printed"
    if not text.strip():
        hint = "choose one" if question.options else "write what is printed"
        raise _wrong("answer", text, allowed, f"answer must not be empty: {hint}")
    try:
        return text, quiz.judge(question, text).right
    except ValueError as error:
        raise _wrong("answer", text, allowed, str(error)) from None


def _wrong(field: str, value: str, allowed: str, message: str) -> params.Invalid:
    return params.Invalid((params.Problem(field, value, message, allowed),))


def _page(attempt: Attempt, number: int) -> dict[str, Any]:
    """What the page of a question shows. Only an answered one comes with what is right, and why."""
    drawn = attempt.questions[number - 1]
    question = _question(drawn)
    shown = {
        "attempt": attempt,
        "number": number,
        "drawn": drawn,
        "question": question,
        "said": request.form.get("answer", ""),
    }
    if question:
        shown |= {"prompt": prose.markdown(question.prompt), "code": _listing(question.code)}
    if question and drawn.right is not None:
        shown |= {
            "why": _why(question, drawn),
            "right_option": next((option for option in question.options if option.right), None),
            "explanation": prose.markdown(question.explanation),
            "solution": _listing(question.solution),
            "given": _listing(drawn.answer) if question.kind == "write" else (),
            "proof_title": progress.title_of(question.proof),
        }
    return shown


def _why(question: quiz.Question, drawn: Drawn) -> str:
    """Why the answer is right or wrong. What counts is what was decided then, should the bank have changed since."""
    if question.kind == "write":
        return "Your code passes the check." if drawn.right else "You looked at the solution, so this is not solved."
    try:
        verdict = quiz.judge(question, drawn.answer or "")
    except ValueError:
        return ""
    return verdict.why if verdict.right == drawn.right else ""


# Attempts


@bp.app_template_test()
def passed(attempt: Attempt) -> bool:
    """Whether enough of its answers are right."""
    return attempt.score >= quiz.PASS


def _attempt(id: str) -> Attempt:
    """The learner's attempt of that number, or the one in the address; NotThere."""
    if "." in id:
        try:
            started_at, questions = signed.loads(id)
        except BadSignature:
            message = "This attempt was not kept, and its address is not known any more. Start a new one."
            raise NotThere(message, back="/quiz") from None
        return Attempt(id, started_at, tuple(Drawn(*fields) for fields in questions))
    with store().reading(token()) as learner:
        attempts = learner.attempts() if learner else ()
    found = next((attempt for attempt in attempts if str(attempt.id) == id), None)
    if not found:
        kept = f"the attempts 1 to {len(attempts)}" if attempts else "no attempts"
        message = (
            f'There is no attempt "{id[:20]}". For this browser {kept} are kept; the quiz needs its cookie for that.'
        )
        raise NotThere(message, back="/quiz")
    return found


def _loose(attempt: Attempt) -> str:
    return str(signed.dumps([attempt.started_at, [list(vars(drawn).values()) for drawn in attempt.questions]]))


def _number(attempt: Attempt, text: str) -> int:
    last = len(attempt.questions)
    if text not in map(str, range(1, last + 1)):
        message = f'An attempt has the questions 1 to {last}; there is no question "{text[:20]}".'
        raise NotThere(message, back=f"/quiz/{attempt.id}")
    return int(text)


def _open(attempts: tuple[Attempt, ...]) -> Attempt | None:
    """The attempt that waits for an answer, if all its questions are still there."""
    waiting = (
        one for one in reversed(attempts) if one.first_open and {q.family for q in one.questions} <= _bank().keys()
    )
    return next(waiting, None)


def _draw(attempts: tuple[Attempt, ...]) -> tuple[Drawn, ...]:
    """Five questions of families that no attempt had, until all of the bank was used; then it begins anew."""
    used, last = set[str](), set[str]()
    for attempt in attempts:
        last = {drawn.family for drawn in attempt.questions}
        used = last if _bank().keys() <= used | last else used | last
    for _ in range(20):  # near the end of the bank used ones fill up, but none of the attempt just made
        questions = quiz.draw(secrets.randbelow(2**32), frozenset(used))
        if last.isdisjoint(question.family for question in questions):
            break
    return tuple(Drawn(question.family, question.seed, question.objective) for question in questions)


@cache
def _bank() -> dict[str, quiz.Family]:
    return {family.id: family for family in quiz.families()}


def _question(drawn: Drawn) -> quiz.Question | None:
    """The question, made again; None when the bank has no such family any more."""
    return _made(drawn.family, drawn.seed) if drawn.family in _bank() else None


@lru_cache(maxsize=1_000)
def _made(family: str, seed: int) -> quiz.Question:
    return _bank()[family].make(seed)  # some make a run or two, which takes up to a tenth of a second


def _objective(number: int) -> str:
    return quiz.OBJECTIVES[number - 1] if number <= len(quiz.OBJECTIVES) else ""


def _listing(source: str | None) -> tuple[listing.Line, ...]:
    return listing.of_text(source) if source else ()
