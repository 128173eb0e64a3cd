"""The pages that people read."""

from typing import Any

from flask import Blueprint, render_template

from lessons import contents, excerpts, params
from webapp import moment, progress, prose
from webapp.asked import Asked, asked, chapter_of, controls_of, recorded

bp = Blueprint("pages", __name__)


@bp.get("/")
def index() -> str:
    defaults = [(section, section.Params()) for section in contents.sections()]
    runs = [Asked(section, values, recorded(section, values)) for section, values in defaults]
    # The liveliest default run is the picture at the top: most jobs that came back.
    liveliest = max(runs, key=lambda run: sum(step.kind == "retry" for step in run.recording.steps))
    shown = liveliest.at(next(s.number for s in reversed(liveliest.recording.steps) if s.kind == "ack"))
    return render_template(
        "index.html",
        chapters=contents.chapters(),
        about=prose.markdown(excerpts.source("welcome.md")),
        shown=shown,
        timeline=moment.timeline(shown.section, shown.params),
        **progress.so_far(),
    )


@bp.get("/<slug>")
def chapter(slug: str) -> str:
    found = chapter_of(slug)
    return section_page(slug) if isinstance(found, contents.Section) else render_template("chapter.html", **way(found))


def section_page(slug: str) -> str:
    """The page of a section at the moment that the request asks for."""
    here = asked(slug)
    fields = params.fields(here.section.Params)
    controls = controls_of(here.section, here.params)
    before = progress.goals_kept() if controls else {}
    return render_template(
        "section.html",
        here=here,
        fields=fields,
        given={field.name: field.kind.to_text(getattr(here.params, field.name)) for field in fields},
        moment=moment.html(here),
        controls=controls,
        before=before,
        goals_reached=sum(goal.reached or goal.id in before for goal in controls.goals) if controls else 0,
        **way(here.section),
    )


def way(chapter: contents.Chapter) -> dict[str, Any]:
    """What every chapter's page shows: its text, and the chapters before and after it."""
    chapters = contents.chapters()
    return {
        "chapter": chapter,
        "text": prose.html(chapter),
        "headings": prose.headings(chapter),
        "previous": chapters[chapter.number - 2] if chapter.number > 1 else None,
        "following": chapters[chapter.number] if chapter.number < len(chapters) else None,
        "total": len(chapters),
    }


@bp.get("/healthz")
def healthz() -> tuple[str, dict[str, str]]:
    return "ok\n", {"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store"}


@bp.get("/favicon.ico")
def favicon() -> tuple[str, int, dict[str, str]]:
    return "", 204, {"Cache-Control": "public, max-age=86400"}
