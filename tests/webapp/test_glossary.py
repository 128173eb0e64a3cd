"""The page of terms."""

import re

from lessons import contents
from webapp import glossary


def test_the_page_has_every_term_of_the_file_in_alphabetical_order():
    terms = re.findall(r"^## (.+)$", (contents.LESSONS / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)

    assert terms
    assert sorted(terms, key=str.lower) == [entry.term for entry in glossary.entries()]


def test_each_term_can_be_linked_to(page):
    anchors = [entry["id"] for entry in page("/glossary").all("section", class_="entry")]

    assert [entry.anchor for entry in glossary.entries()] == anchors
    assert len(anchors) == len(set(anchors))


def test_each_term_has_a_meaning_of_its_own():
    meanings = [entry.meaning for entry in glossary.entries()]

    assert all("<p>" in meaning for meaning in meanings)
    assert len(meanings) == len(set(meanings))


def test_a_term_lists_the_chapters_that_link_to_it(page):
    lease = next(entry for entry in glossary.entries() if entry.term == "Lease")
    linking = [chapter for chapter in contents.chapters() if "](/glossary#lease)" in chapter.text]

    assert linking
    assert tuple(linking) == lease.chapters
    links = page("/glossary").one(id="lease").one(class_="met").all("a")
    assert [(f"/{chapter.slug}", chapter.title) for chapter in linking] == [(link["href"], link.text) for link in links]
