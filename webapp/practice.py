"""Python in the learner's browser: the exercises, and every section's program to edit and run.

Nothing that a learner writes comes here. The pages send the source of the lesson's package, and a worker runs it
under a policy of its own, which lets that code call nothing of this application.
"""

from functools import cache
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, current_app, jsonify, render_template, request

from lessons import contents, excerpts, exercises, params
from lessons.exercises import Answer, Exercise
from lessons.recording import as_text
from webapp import listing, moment, pages, progress, prose
from webapp.asked import BadQuery, NotThere, asked, checked, exercise_of, section

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


@bp.get(f"/{CHAPTER}")
def overview() -> str:
    way = pages.way(contents.chapter(CHAPTER))
    return render_template("practice.html", exercises=exercises.exercises(), **progress.so_far(), **way)


@bp.get(f"/{CHAPTER}/<name>")
def exercise(name: str) -> str:
    found = exercise_of(name)
    given = request.args.to_dict()
    answers: list[Answer] = []
    if found.questions and given:
        values, problems = checked(found.questions.Params, given, request.args)
        if problems:
            raise BadQuery(problems, "These answers cannot be judged", "exercise.html", _page(found, given, answers))
        answers = found.questions.decide(values)
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
    here = asked(slug, beside=("file",))
    files = _editable(here.section)
    name = request.args.get("file", here.section.program)
    if name not in files:
        message = f'file must be one of {", ".join(files)}, not "{name[:60]}"'
        raise NotThere(message, back=here.neighbour("edit"))
    return render_template(
        "edit.html",
        here=here,
        given=params.query(here.params),
        changed=moment.changes(here, by_hand=True).fields,
        printed=as_text(here.recording).splitlines(),
        files=list(files),
        file=name,
        text=files[name],
    )


@bp.get("/<slug>/edit/files.json")
def edit_files(slug: str) -> Response:
    return jsonify(_editable(section(slug)))


@bp.get("/python/lessons.json")
def package() -> Response:
    return jsonify(_sources([*(f"{name}.py" for name in TOOLS), *_modules("reference")]))


@bp.after_app_request
def _worker_policy(response: Response) -> Response:
    """The worker's own policy: with the paths, code in it can fetch Pyodide and the runner, and no page."""
    assets = current_app.extensions["assets"]
    if request.path == assets[WORKER].href:
        python = request.host + assets[f"{PYTHON}/pyodide.mjs"].href.rpartition("/")[0] + "/"
        runner = request.host + assets["py/runner.py"].href
        response.headers["Content-Security-Policy"] = (
            f"default-src 'none'; script-src {python} 'wasm-unsafe-eval'; connect-src {python} {runner}; "
            "worker-src 'none'"
        )
        # The policy is no part of the file's hash, and a browser may not take it from a 304.
        response.headers["Cache-Control"] = "no-store"
    return response


def _page(found: Exercise, given: dict[str, str], answers: list[Answer]) -> dict[str, Any]:
    everything = exercises.exercises()
    questions = found.questions
    return {
        "exercise": found,
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
        **progress.so_far(),
    }


@bp.app_template_global()
def python_bytes() -> int:
    """What Pyodide fetches while its progress is shown."""
    return sum(len(current_app.extensions["assets"][name].body) for name in FETCHED)


@cache
def _solution(folder: str) -> tuple[listing.Line, ...]:
    file = f"{folder}/solution.py"
    return listing.lines(excerpts.Excerpt(file, "solution", 1, tuple(excerpts.source(file).splitlines())))


def _editable(found: contents.Section) -> dict[str, str]:
    """A section's own files, the program first, and the reference modules: name -> text."""
    names = [found.program, *_modules(found.folder), *_modules("reference")]
    return {name: excerpts.source(name) for name in names if not name.endswith("/__init__.py")}


def _modules(folder: str) -> list[str]:
    return sorted(f"{folder}/{path.name}" for path in (excerpts.LESSONS / folder).glob("*.py"))


def _sources(names: list[str]) -> dict[str, str]:
    return {f"lessons/{name}": excerpts.source(name) for name in names}
