"""Python in the learner's browser: the exercises, and every section's program to edit and run.

Nothing that a learner writes comes here. The pages send the source of the lesson's package, and a worker runs it
under a policy of its own, which lets that code call nothing of this application.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, current_app, jsonify, render_template, request

from lessons import contents, excerpts, exercises, params
from lessons.exercises import Answer, Exercise
from webapp import errors, listing, pages, prose
from webapp.asked import NotThere, given_twice, only, section

CHAPTER = "practice"
WORKER = "py-worker.mjs"
PYTHON = "vendor/pyodide"
# What a browser needs to run any program or checker. The rest of the package stays here: there are answers in it.
TOOLS = (
    *("__init__", "checking", "params", "recorder", "recording", "simulation"),
    *("watched_database", "watched_queue", "which_queue"),
)
FETCHED = tuple(f"{PYTHON}/{name}" for name in ("pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"))

bp = Blueprint("practice", __name__)


class BadAnswers(ValueError):
    """Answers that no question takes."""

    def __init__(self, exercise: Exercise, problems: tuple[params.Problem, ...], given: dict[str, str]) -> None:
        super().__init__("\n".join(problem.message for problem in problems))
        self.exercise, self.problems, self.given = exercise, problems, given


@bp.get(f"/{CHAPTER}")
def overview() -> str:
    return render_template("practice.html", exercises=exercises.exercises(), **pages.way(contents.chapter(CHAPTER)))


@bp.get(f"/{CHAPTER}/<name>")
def exercise(name: str) -> str:
    found = exercise_of(name)
    given = request.args.to_dict()
    answers: list[Answer] = []
    if not found.questions:
        only({})
    elif twice := given_twice():
        raise BadAnswers(found, tuple(twice), given)
    elif given:
        try:
            answers = found.questions.decide(params.read(found.questions.Params, given))
        except params.Invalid as error:
            raise BadAnswers(found, error.problems, given) from None
    return render_template("exercise.html", **_page(found, given, answers))


@bp.get(f"/{CHAPTER}/<name>/files.json")
def exercise_files(name: str) -> Response:
    found = exercise_of(name)
    if not found.code:
        raise NotThere(f'"{found.title}" has no code to write.', back=f"/{CHAPTER}/{found.slug}")
    parents = [folder for folder in (found.folder, *map(str, Path(found.folder).parents)) if folder != "."]
    return jsonify(_sources([*(f"{folder}/__init__.py" for folder in parents), f"{found.folder}/check.py"]))


@bp.get("/<slug>/edit")
def edit(slug: str) -> str:
    found = section(slug)
    only({"file": ()})
    files = _editable(found)
    name = request.args.get("file", found.program)
    if name not in files:
        message = f'file must be one of {", ".join(files)}, not "{name[:60]}"'
        raise NotThere(message, back=f"/{slug}/edit")
    return render_template(
        "edit.html", section=found, files=list(files), file=name, text=files[name], fetched_bytes=_fetched_bytes()
    )


@bp.get("/<slug>/edit/files.json")
def edit_files(slug: str) -> Response:
    return jsonify(_editable(section(slug)))


@bp.get("/python/lessons.json")
def package() -> Response:
    return jsonify(_sources([*(f"{name}.py" for name in TOOLS), *_reference("__init__"), *_reference()]))


@bp.app_errorhandler(BadAnswers)
def bad_answers(error: BadAnswers) -> Response:
    page = _page(error.exercise, error.given, []) | {"problems": error.problems}
    page.pop("title")
    title = "These answers cannot be judged"
    return errors.answer(400, title, str(error), errors.told(error.problems), "exercise.html", page)


@bp.after_app_request
def _worker_policy(response: Response) -> Response:
    """The worker's own policy: with the paths, code in it can fetch Pyodide and the runner, and no page."""
    asset: Callable[[str], str] = current_app.jinja_env.globals["asset"]  # type: ignore[assignment]
    if request.path == asset(WORKER):
        python = request.host + asset(f"{PYTHON}/pyodide.mjs").rpartition("/")[0] + "/"
        runner = request.host + asset("py/runner.py")
        response.headers["Content-Security-Policy"] = (
            f"default-src 'none'; script-src {python} 'wasm-unsafe-eval'; connect-src {python} {runner}; "
            "worker-src 'none'"
        )
    return response


def exercise_of(name: str) -> Exercise:
    """The exercise of that name; NotThere lists what there is."""
    try:
        return exercises.exercise(name)
    except KeyError:
        names = ", ".join(found.slug for found in exercises.exercises())
        message = f'There is no exercise "{name[:60]}". The exercises are {names}.'
        raise NotThere(message, back=f"/{CHAPTER}") from None


def _page(found: Exercise, given: dict[str, str], answers: list[Answer]) -> dict[str, Any]:
    everything = exercises.exercises()
    questions = found.questions
    return {
        "exercise": found,
        "title": found.title,
        "task": prose.markdown(found.task, found.folder),
        "hints": [prose.markdown(hint, found.folder) for hint in found.hints],
        "afterwards": prose.markdown(found.afterwards, found.folder),
        "solution": _solution(found.folder) if found.code else (),
        "fields": {field.name: field for field in params.fields(questions.Params)} if questions else {},
        "given": given,
        "answers": {answer.group: answer for answer in answers},
        "all_right": questions is not None and sum(answer.right for answer in answers) == len(questions.groups),
        "problems": (),
        "previous": everything[found.number - 2] if found.number > 1 else None,
        "following": everything[found.number] if found.number < len(everything) else None,
        "total": len(everything),
        "fetched_bytes": _fetched_bytes(),
    }


def _fetched_bytes() -> int:
    """What Pyodide fetches while its progress is shown."""
    size: Callable[[str], int] = current_app.jinja_env.globals["asset_bytes"]  # type: ignore[assignment]
    return sum(map(size, FETCHED))


@cache
def _solution(folder: str) -> tuple[listing.Line, ...]:
    file = f"{folder}/solution.py"
    lines = (excerpts.LESSONS / file).read_text(encoding="utf-8").splitlines()
    return listing.lines(excerpts.Excerpt(file, "solution", 1, tuple(lines)))


def _editable(found: contents.Section) -> dict[str, str]:
    """A section's own files, the program first, and the reference modules: name -> text."""
    own = sorted(path.name for path in (excerpts.LESSONS / found.folder).glob("*.py") if path.stat().st_size)
    names = [found.program, *(f"{found.folder}/{name}" for name in own), *_reference()]
    return {name: (excerpts.LESSONS / name).read_text(encoding="utf-8") for name in names}


def _reference(only: str = "[a-z]*") -> list[str]:
    return sorted(f"reference/{path.name}" for path in (excerpts.LESSONS / "reference").glob(f"{only}.py"))


@cache
def _text(name: str) -> str:
    return (excerpts.LESSONS / name).read_text(encoding="utf-8")


def _sources(names: list[str]) -> dict[str, str]:
    return {f"lessons/{name}": _text(name) for name in names}
