"""The page on which each term of the lesson is explained."""

import re
from dataclasses import dataclass
from functools import cache

from flask import Blueprint, render_template
from markupsafe import Markup

from lessons import contents, excerpts
from lessons.contents import Chapter
from webapp import prose

bp = Blueprint("glossary", __name__)


@dataclass(frozen=True)
class Entry:
    """A term, its meaning, and the chapters that link to it."""

    term: str
    anchor: str
    meaning: Markup
    chapters: tuple[Chapter, ...]


@bp.get("/glossary")
def page() -> str:
    return render_template("glossary.html", entries=entries())


@cache
def entries() -> tuple[Entry, ...]:
    """All terms, in the order of the alphabet."""
    found = re.findall(r"^## (.+)\n\n((?:(?!## ).*\n?)+)", excerpts.source("glossary.md"), re.MULTILINE)
    return tuple(_entry(*each) for each in sorted(found, key=lambda each: each[0].lower()))


def _entry(term: str, meaning: str) -> Entry:
    anchor = prose.anchor(term)
    linking = tuple(chapter for chapter in contents.chapters() if f"](/glossary#{anchor})" in chapter.text)
    return Entry(term, anchor, prose.markdown(meaning), linking)
