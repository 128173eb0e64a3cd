"""The page of terms."""

import re

from lessons import contents
from webapp import create_app, glossary


def page():
    return create_app({"TESTING": True}).test_client().get("/glossary")


def test_the_page_has_every_term_of_the_file_in_alphabetical_order():
    terms = re.findall(r"^## (.+)$", (contents.LESSONS / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)

    assert terms
    assert sorted(terms, key=str.lower) == [entry.term for entry in glossary.entries()]
    assert (200, "text/html") == (page().status_code, page().mimetype)


def test_each_term_can_be_linked_to():
    anchors = re.findall(r'<section class="entry" id="([^"]+)"', page().text)

    assert [entry.anchor for entry in glossary.entries()] == anchors
    assert len(anchors) == len(set(anchors))


def test_each_term_has_a_meaning_of_its_own():
    meanings = [entry.meaning for entry in glossary.entries()]

    assert all("<p>" in meaning for meaning in meanings)
    assert len(meanings) == len(set(meanings))


def test_a_term_lists_the_chapters_that_link_to_it():
    lease = next(entry for entry in glossary.entries() if entry.term == "Lease")
    linking = [chapter for chapter in contents.chapters() if "](/glossary#lease)" in chapter.text]

    assert linking
    assert tuple(linking) == lease.chapters
    for chapter in linking:
        assert f'<a href="/{chapter.slug}">{chapter.title}</a>' in page().text
