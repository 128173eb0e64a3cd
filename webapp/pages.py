"""The pages that people read."""

from flask import Blueprint, render_template

from lessons import contents, params
from webapp import moment, prose
from webapp.asked import Asked, asked

bp = Blueprint("pages", __name__)


@bp.get("/")
def index() -> str:
    runs = [Asked(section, section.Params()) for section in contents.sections()]
    # The liveliest default run is the picture at the top: most jobs that came back.
    liveliest = max(runs, key=lambda run: sum(step.kind == "retry" for step in run.recording.steps))
    shown = liveliest.at(next(s.number for s in reversed(liveliest.recording.steps) if s.kind == "ack"))
    return render_template(
        "index.html",
        sections=[(run.section, moment.timeline(run)) for run in runs],
        shown=shown,
        drawing=moment.timeline(shown),
    )


@bp.get("/<slug>")
def section(slug: str) -> str:
    here = asked(slug)
    sections = contents.sections()
    return render_template(
        "section.html",
        here=here,
        fields=params.fields(here.section.Params),
        given={
            field.name: field.kind.to_text(getattr(here.params, field.name))
            for field in params.fields(here.section.Params)
        },
        moment=moment.html(here),
        text=prose.html(here.section),
        previous=next((s for s in sections if s.number == here.section.number - 1), None),
        following=next((s for s in sections if s.number == here.section.number + 1), None),
        total=len(sections),
    )


@bp.get("/healthz")
def healthz() -> tuple[str, dict[str, str]]:
    return "ok\n", {"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store"}


@bp.get("/favicon.ico")
def favicon() -> tuple[str, int, dict[str, str]]:
    return "", 204, {"Cache-Control": "public, max-age=86400"}
