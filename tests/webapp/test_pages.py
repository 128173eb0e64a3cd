"""The pages that people read, as a browser without JavaScript has them."""

import re
from urllib.parse import urlencode

import pytest

from lessons import contents, excerpts, params
from lessons.recorder import STEP_LIMIT
from lessons.recording import in_seconds
from webapp import asked, create_app, moment

LONG = "/retries?receipts=50&provider_up_at_ms=3600000&max_attempts=100"  # cut off at the limit of steps
IN_THE_MIDDLE = "/retries?max_attempts=3&jitter=equal&step=5&view=present&play=1&pace=400"
CARRIED = {"max_attempts": "3", "jitter": "equal", "view": "present", "pace": "400"}
KINDS_OF_PAGE = ["/", "/retries", "/outbox?step=last", "/redelivery?step=3&play=1", IN_THE_MIDDLE]
KINDS_OF_PAGE += ["/job-queue", "/production", "/recap"]


def sent_by(form, **changed):
    """The address that a form leads to, with some of its controls changed."""
    values = {}
    for control in form.inside():
        if control.tag == "input":
            values[control["name"]] = control["value"]
        elif control.tag == "select":
            chosen = control.all("option", selected=True) or control.all("option")
            values[control["name"]] = chosen[-1]["value"]
    assert set(changed) <= set(values)
    return f"{form['action']}?{urlencode({**values, **changed})}"


# The contents


def test_the_contents_page_lists_every_chapter(page):
    cards = page("/").one("ol", class_="contents").all("li", class_="card")

    assert [
        (chapter.slug, str(chapter.number), chapter.title, chapter.summary, f"/{chapter.slug}")
        for chapter in contents.chapters()
    ] == [
        (
            card["data-section"],
            card.one(class_="number").text,
            card.one("a").text,
            card.one("p").text,
            card.one("a")["href"],
        )
        for card in cards
    ]


def test_the_contents_page_begins_with_the_first_chapter(page):
    first = contents.chapters()[0]

    assert f"/{first.slug}" == page("/").one(class_="hero-links").one("a")["href"]


@pytest.mark.parametrize("address", ["/", "/retries", "/production", "/glossary", "/progress", "/quiz"])
def test_glossary_and_progress_are_at_the_top_of_each_page(address, page):
    links = page(address).one("header", class_="site").one("nav", class_="pages").all("a")

    assert ["/glossary", "/progress"] == [link["href"] for link in links]
    assert all((link["href"] == address) == ("aria-current" in link.attrs) for link in links)


def test_a_long_page_lists_its_headings(page):
    shown = page("/retries")
    text = shown.one("article").inside()
    headings = [(heading["id"], heading.text) for heading in text if heading.tag in ("h2", "h3")]
    for listed in shown.one("nav", class_="toc").all("ul"):
        assert headings == [(link["href"][1:], link.text) for link in listed.all("a")]
    assert [] == page("/quiz").all("nav", class_="toc")


def test_the_picture_on_the_contents_page_is_of_a_run_that_can_be_opened(page):
    picture = page("/").one(class_="showcase")
    caption = picture.one("figcaption")
    shown = page(caption.one("a")["href"]).one(id="moment")

    assert picture.all(class_="mark")
    assert caption.text.endswith(
        f", step {shown['data-step']} of {shown['data-total']}: {shown.one(class_='sentence').text}"
    )


# Steps


def test_a_page_without_a_step_is_at_the_first_and_what_is_driven_by_hand_goes_on_at_the_last(client, run):
    opens_at = "last" if run.section.controls else 1

    assert client.get(run.address(step=opens_at)).data == client.get(run.address()).data


def test_the_last_step_has_a_name(client, run):
    last = len(run.recording.steps)

    assert client.get(run.address(step=last)).data == client.get(run.address(step="last")).data


def test_each_step_is_shown_at_its_address(run, page):
    steps = run.recording.steps
    for number in run.looked_at:
        step, shown = steps[number - 1], page(run.address(step=number)).one(id="moment")

        assert [str(number), str(len(steps)), step.kind] == [
            shown[f"data-{name}"] for name in ("step", "total", "kind")
        ]
        assert [f"t = {in_seconds(step.at_ms)}", step.kind, step.actor, " ".join(step.sentence.split())] == [
            shown.one(class_="time").text,
            shown.one(class_="what").one("b").text,
            shown.one(class_="actor").text,
            shown.one(class_="sentence").text,
        ]
        assert (step.detail or "") == "".join(pre.raw for pre in shown.all("pre", class_="detail"))


def test_the_title_names_section_and_step(section, page):
    first, second = (page(f"/{section.slug}{step}").one("head").one("title").text for step in ("", "?step=2"))

    assert f"{section.title} · Queue Lab" == first
    assert f"{section.title}, step 2 · Queue Lab" == second


def test_the_links_of_each_step_lead_to_its_neighbours_in_the_same_run(run, page, follow):
    last = len(run.recording.steps)

    opens_at = last if run.section.controls else 1

    def at(number, **more):
        return run.path, {**dict(run.query), **({"step": str(number)} if number != opens_at else {}), **more}

    for number in run.looked_at:
        links = page(run.address(step=number)).one(id="transport").all("a")

        assert {
            "t-first": at(1),
            "t-back": at(max(1, number - 1)),
            "t-play": at(1 if number == last else number, play="1"),
            "t-next": at(min(last, number + 1)),
            "t-last": at(last),
            "t-link": at(number),
            "t-view": at(number, view="present"),
        } == {link["id"]: follow(link["href"]) for link in links}


def test_links_at_the_ends_say_that_they_lead_nowhere_else(section, page):
    def disabled(address):
        return [link["id"] for link in page(address).one(id="transport").all("a", aria_disabled="true")]

    assert ["t-first", "t-back"] == disabled(f"/{section.slug}?step=1")
    assert [] == disabled(f"/{section.slug}?step=2")
    assert ["t-next", "t-last"] == disabled(f"/{section.slug}?step=last")


def test_every_link_about_a_run_carries_parameters_view_and_speed(page, follow):
    links = page(IN_THE_MIDDLE).one(id="run").all("a") + page(IN_THE_MIDDLE).one(class_="all-steps").all("a")
    links += page(IN_THE_MIDDLE).one(class_="formats").all("a")
    found = [follow(link["href"]) for link in links if link.get("id") != "t-view"]

    assert len(found) > 40
    assert {"/retries", "/retries/run.txt", "/retries/run.json", "/retries/edit"} == {path for path, _ in found}
    for _, query in found:
        assert CARRIED == {name: value for name, value in query.items() if name not in ("step", "steps")}


def test_the_presenter_view_is_left_at_the_same_step(page, follow):
    shown = page(IN_THE_MIDDLE)
    rest = {name: value for name, value in CARRIED.items() if name != "view"}

    assert "present" in shown.one("body").classes
    assert ("/retries", {**rest, "step": "5"}) == follow(shown.one(id="t-view")["href"])


def test_a_permalink_gives_the_same_bytes_whoever_asks_and_when(client, run):
    address = run.address(step=len(run.recording.steps) // 2 + 1)
    before = client.get(address).data
    for kept in (asked.recorded, moment.timeline):
        kept.cache_clear()

    assert before == client.get(address).data
    assert before == create_app().test_client().get(address).data


def test_the_link_to_copy_is_to_the_page_at_rest(page):
    playing, resting = (page(address).one(id="moment") for address in ("/retries?step=4&play=1", "/retries?step=4"))

    assert "/retries?step=4" == playing.one(id="t-link")["href"] == resting.one(id="t-link")["href"]
    assert ["/retries?step=4&play=1", "/retries?step=4"] == [playing["data-address"], resting["data-address"]]


def test_chapters_lead_to_one_another(page):
    slugs = [chapter.slug for chapter in contents.chapters()]
    for index, slug in enumerate(slugs):
        before, after = slugs[:index][-1:], slugs[index + 1 :][:1]
        navigation, onward = (page(f"/{slug}").one("nav", class_=name) for name in ("sections", "onward"))

        assert ["/" + name for name in [*before, "", *after]] == [a["href"] for a in navigation.all("a")]
        assert ["/" + name for name in before] == [a["href"] for a in navigation.all("a", rel="prev")]
        assert ["/" + name for name in after] == [a["href"] for a in navigation.all("a", rel="next")]
        assert ["/" + name for name in after or [""]] == [a["href"] for a in onward.all("a")]


def test_all_links_on_a_section_page_lead_to_something(section, page, client):
    links = {link["href"] for link in page(f"/{section.slug}").all("a")}
    addresses = {f"/{section.slug}{link}" if link.startswith("?") else link for link in links}
    inside = {link for link in addresses if link.startswith("/") and not re.search(r"[?&]step=\d", link)}

    assert len(inside) > 5
    assert {200} == {client.get(address).status_code for address in inside}


# Without JavaScript


@pytest.mark.parametrize("address", KINDS_OF_PAGE)
def test_every_control_is_a_link_or_in_a_form(address, page):
    shown = page(address)
    scripted = [element for dialog in shown.all("dialog") for element in dialog.inside()]  # the list of keys
    scripted += shown.all(id="d-fold")  # styles alone make it fold
    forms = [form for form in shown.all("form") if form not in scripted]
    in_forms = [element for form in forms for element in form.inside()]

    assert all(link["href"] for link in shown.all("a"))
    slug = re.match(r"/([a-z-]*)", address)[1]
    ways = [(form["method"], form["action"]) for form in forms]
    # What changes the learner's progress is a POST, and all else asks for a page.
    marks = [("post", f"/progress/seen/{slug}")] if slug else []
    assert marks == [way for way in ways if way[0] != "get"]
    assert [] == [action for method, action in ways if method == "get" and action != f"/{slug}"]
    for tag in ("button", "input", "select", "textarea"):
        assert [e for e in in_forms if e.tag == tag] == [e for e in shown.all(tag) if e not in scripted]
    assert [] == shown.all(role="button") + shown.all("dialog", open=True)


@pytest.mark.parametrize("address", KINDS_OF_PAGE)
def test_htmx_asks_for_what_the_link_or_form_itself_asks_for(address, page):
    for control in page(address).all(hx_get=True):
        assert control["hx-get"] == control["href" if control.tag == "a" else "action"]


@pytest.mark.parametrize("address", KINDS_OF_PAGE)
def test_what_one_element_says_of_another_is_there_once(address, page):
    elements = list(page(address).inside())
    ids = [element["id"] for element in elements if "id" in element.attrs]
    named = {
        name
        for element in elements
        for attribute in ("for", "aria-labelledby", "aria-describedby", "aria-controls")
        for name in element.get(attribute, "").split()
    }

    assert sorted(set(ids)) == sorted(ids)
    assert named <= set(ids)
    assert {e["href"][1:] for e in elements if e.get("href", "").startswith("#")} <= set(ids), "links, icons"


def test_a_playing_page_goes_on_by_itself_to_the_end(page, follow):
    carried = {"visibility_ms": "60000", "view": "present", "pace": "400", "play": "1"}
    address, seen = f"/redelivery?{urlencode(carried)}", []
    while address:
        shown = page(address)
        seen.append(int(shown.one(id="moment")["data-step"]))
        refresh = [meta for noscript in shown.all("noscript") for meta in noscript.all("meta")]
        assert [("refresh", "2")] * len(refresh) == [
            (meta["http-equiv"], meta["content"].split(";")[0]) for meta in refresh
        ]
        address = refresh[0]["content"].partition("url=")[2] if refresh else None
        assert not address or {**carried, "step": str(len(seen) + 1)} == follow(address)[1]

    assert list(range(1, int(shown.one(id="moment")["data-total"]) + 1)) == seen


def test_only_a_playing_page_refreshes_and_opens_a_stream(section, page):
    def moving(address):
        shown = page(f"/{section.slug}{address}")
        tapes = [tape["hx-sse:connect"] for tape in shown.all(class_="tape")]
        return tapes, len(shown.all("meta", http_equiv="refresh"))

    assert ([], 0) == moving("?step=2")
    assert ([f"/{section.slug}/stream?from=2"], 1) == moving("?step=2&play=1")
    assert ([], 0) == moving("?step=last&play=1")


def test_a_playing_page_offers_pause_and_the_end_offers_replay(page, follow):
    def play_button(address):
        button = page(address).one(id="t-play")
        return button.text, follow(button["href"])

    assert ("Play", ("/retries", {"play": "1"})) == play_button("/retries")
    assert ("Pause", ("/retries", {"step": "3"})) == play_button("/retries?step=3&play=1")
    assert ("Replay", ("/retries", {"play": "1"})) == play_button("/retries?step=last&play=1")


def test_the_slider_stays_in_the_run(run, page, follow):
    form = page(run.address(step=3)).one(id="scrub")
    slider = form.one("input", type="range")

    assert ["1", str(len(run.recording.steps)), "3"] == [slider["min"], slider["max"], slider["value"]]
    assert (run.path, {**dict(run.query), "step": "2"}) == follow(sent_by(form, step=2))


def test_the_slider_stops_what_plays(page, follow):
    assert ("/retries", {**CARRIED, "step": "5"}) == follow(sent_by(page(IN_THE_MIDDLE).one(id="scrub")))


def test_the_speed_stays_at_the_step_and_keeps_playing(page, follow):
    form = page(IN_THE_MIDDLE).one(id="speed")

    assert ("/retries", {**CARRIED, "step": "5", "play": "1"}) == follow(sent_by(form))
    assert ("/retries", {**CARRIED, "step": "5", "play": "1", "pace": "1600"}) == follow(sent_by(form, pace=1600))


def test_a_speed_of_ones_own_is_kept_among_the_others(page):
    chosen = page("/retries?pace=123").one("select", id="pace").one("option", selected=True)

    assert ("123", "123 ms a step") == (chosen["value"], chosen.text)


def test_the_form_shows_what_ran(run, page, follow):
    form = page(run.address()).one(id="parameters")
    fields = params.fields(run.section.Params)
    path, sent = follow(sent_by(form))

    assert run.path == path
    assert [field.name for field in fields] == list(sent)
    assert {**{field.name: field.default_text for field in fields}, **dict(run.query)} == sent
    for field in fields:
        control = form.one(id=f"p-{field.name}")
        label, help = form.one("label", for_=control["id"]), form.one(id=f"h-{field.name}")
        assert f"{field.label} {field.unit}".strip() == label.text
        assert field.help in help.text
        assert hasattr(field.kind, "options") or field.allowed[1:] in help.text
        assert (field.default_text, None) == (control["data-default"], control.get("aria-invalid"))


def test_the_form_makes_another_run_in_the_same_view(page):
    form = page(IN_THE_MIDDLE).one(id="parameters")
    shown = page(sent_by(form, max_attempts=1))

    assert "1" == shown.one(id="p-max_attempts")["value"]
    assert "equal" == shown.one(id="p-jitter").one("option", selected=True)["value"]
    assert "present" in shown.one("body").classes
    assert "1" == shown.one(id="moment")["data-step"]


def test_the_defaults_are_one_link_away(section, page):
    links = [link["href"] for link in page(f"/{section.slug}").one(id="parameters").all("a")]

    assert [f"/{section.slug}"] == links


def test_all_steps_are_told_in_words_with_a_link_to_each(run, page, follow):
    steps = page(run.address(step="last")).one("details", class_="all-steps").all("li")
    links = [follow(item.one("a")["href"]) for item in steps]

    assert [
        (str(step.number), " ".join(f"t={in_seconds(step.at_ms)} {step.sentence}".split()))
        for step in run.recording.steps
    ] == [(item["value"], item.text) for item in steps]
    assert [(run.path, dict(run.query))] * len(steps) == [
        (path, {name: value for name, value in query.items() if name != "step"}) for path, query in links
    ]
    opens_at = len(steps) if run.section.controls else 1
    assert [step.number for step in run.recording.steps] == [int(query.get("step", opens_at)) for _, query in links]


def test_a_changed_run_says_what_is_changed(page, follow):
    assert [] == page("/retries?step=3").all(class_="changed")
    shown = page("/retries?max_attempts=3&provider_up_at_ms=9000&queue=hardened&step=5&pace=400").one(class_="changed")

    assert (
        "Changed: Mail provider is back at 9000 ms (default 5000 ms); Max attempts 3 (default 5); "
        "Queue Hardened (default The lesson's). Back to the defaults"
    ) == shown.text
    assert ("/retries", {"pace": "400"}) == follow(shown.one("a")["href"])
    presented = page(IN_THE_MIDDLE).one(class_="changed")
    assert ([], True) == (presented.all("a"), "Max attempts 3 (default 5)" in presented.text)


def test_what_was_done_by_hand_is_no_change_and_stays(page, follow):
    assert [] == page("/job-queue?ops=enqueue").all(class_="changed")
    shown = page("/job-queue?ops=enqueue&max_attempts=2").one(class_="changed")

    assert "Changed: Max attempts 2 (default 3). Back to the defaults" == shown.text
    assert ("/job-queue", {"ops": "enqueue"}) == follow(shown.one("a")["href"])


# The state after a step


def test_the_boards_are_what_the_data_says(run, page, told):
    for number in run.looked_at:
        step, shown = told(run)["steps"][number - 1], page(run.address(step=number)).one(id="moment")
        boards = {board["data-queue"]: board for board in shown.all(class_="queue")}

        assert [queue["name"] for queue in step["state"]["queues"]] == list(boards)
        for queue in step["state"]["queues"]:
            lanes = {lane["data-lane"]: lane for lane in boards[queue["name"]].all(class_="lane")}
            assert queue["counts"] == {name: int(lane["data-count"]) for name, lane in lanes.items()}
            for name, lane in lanes.items():
                count = queue["counts"][name]
                jobs = [job for job in queue["jobs"] if name == job["lane"]]
                jobs = (jobs[::-1] if name in ("dead", "done") else jobs)[: moment.LANE_CARDS]
                cards = lane.all("li", class_="job")
                assert [(job["id"], name, job["id"] == step["job"]) for job in jobs] == [
                    (card["data-job"], card["data-state"], "touched" in card.classes) for card in cards
                ]
                assert (str(count), f"{name}: {count}") == (lane.one(class_="count").text, lane["aria-label"])
                assert ("empty" in lane.classes) == (count == 0)
                for job, card in zip(jobs, cards, strict=True):
                    tried = f"attempt {job['attempts']}" if job["attempts"] else "not tried yet"
                    assert (job["id"], job["type"], tried) == tuple(
                        card.one(class_=of).text for of in ("id", "type", "attempt")
                    )


def test_the_ledger_adds_up_at_every_step(run, page):
    for number in run.looked_at:
        for ledger in page(run.address(step=number)).all(class_="ledger"):
            sides = ledger.text.partition(" · ")[0].split(" = ")
            put_in, found = (sum(map(int, re.findall(r"\d+", side))) for side in sides)

            assert put_in == found


def test_a_card_says_until_when_and_why(page):
    leased = page("/redelivery?step=3").one(class_="job")
    delayed = page("/retries?step=4").one("li", data_job="job-1")

    assert ("leased", "worker A, until 30s") == (leased["data-state"], leased.one(class_="until").text)
    assert ("delayed", "until 1s", "last error: mail provider: 503") == (
        delayed["data-state"],
        delayed.one(class_="until").text,
        delayed.one(class_="error").text,
    )


def test_the_marked_line_is_the_line_that_did_it(run, page, told):
    for number in run.looked_at:
        source = told(run)["steps"][number - 1]["source"]
        listings = page(run.address(step=number)).one(id="moment").all("section", class_="code")
        marked = [
            (listing.one("h2").one("small").text, int(line["data-line"]), line.raw.strip())
            for listing in listings
            for line in listing.all(aria_current="true")
        ]
        text = (excerpts.LESSONS / source["file"]).read_text().splitlines()[source["line"] - 1].strip()

        assert run.section.program == listings[0].one("h2").one("small").text
        assert [(source["file"], source["line"], text)] == marked


def test_the_lines_that_led_there_are_marked_too(run, page, told):
    for number in run.looked_at:
        step = told(run)["steps"][number - 1]
        calls = {(place["file"], place["line"]) for place in step["calls"]}
        listings = page(run.address(step=number)).one(id="moment").all("section", class_="code")
        leading = {
            (listing.one("h2").one("small").text, int(line["data-line"]))
            for listing in listings
            for line in listing.all(class_="calling")
        }

        assert leading <= calls
        assert bool(leading) == (len(listings) > 1 or step["source"] != step["calls"][0])


def test_the_narration_is_spoken_unless_the_run_plays(section, page):
    def spoken(address):
        return page(f"/{section.slug}{address}").one(id="narration")["aria-live"]

    assert ["polite", "polite", "off", "polite"] == [
        spoken(address) for address in ("", "?step=2", "?step=2&play=1", "?step=last&play=1")
    ]


def test_nothing_but_narration_and_status_is_a_live_region(page):
    live = [e["id"] for e in page("/retries?step=3").inside() if "aria-live" in e.attrs or e.get("role") == "status"]

    assert ["narration", "status"] == live


def test_the_log_is_what_was_printed_so_far(run, page):
    for number in run.looked_at:
        log = page(run.address(step=number)).one(id="log").all("li", data_step=True)
        printed = [step for step in run.recording.steps[:number] if step.printed is not None]

        assert [(str(step.number), step.printed or " ") for step in printed] == [
            (line["data-step"], line.raw) for line in log
        ]
        assert [str(step.number) for step in printed if step.number == number] == [
            line["data-step"] for line in log if "current" in line.classes
        ]


def test_tables_show_their_last_rows(run, page):
    for number in run.looked_at:
        tables = run.recording.steps[number - 1].state.tables
        shown = page(run.address(step=number)).one(id="moment")

        assert [table.name for table in tables] == [table["data-table"] for table in shown.all("table")]
        for table in tables:
            rows = [["NULL" if value is None else str(value) for value in row] for row in table.rows]
            drawn = shown.one("table", data_table=table.name)
            assert list(table.columns) == [head.text for head in drawn.all("th")]
            assert (rows[-moment.MOST["page"]["rows"] :] or [["no rows"]]) == [
                [cell.raw for cell in row.all("td")] for row in drawn.one("tbody").all("tr")
            ]


def test_a_section_with_a_database_shows_tables_and_one_without_does_not(page):
    assert {"orders", "outbox"} == {table["data-table"] for table in page("/outbox").all("table", data_table=True)}
    assert [] == page("/retries").all("table", data_table=True)


def test_rows_that_are_left_out_are_counted(page):
    shown = page("/outbox?rows=20&step=last")
    tables = [panel for panel in shown.all(class_="panel") if panel.all("table", data_table=True)]

    assert ["and 13 other rows", "and 12 other rows"] == [panel.one(class_="more").text for panel in tables]


def test_the_rows_that_a_step_changes_are_marked_and_shown(page):
    def touched(address):
        return [row.all("td")[0].raw for row in page(address).one(id="moment").all("tr", class_="touched")]

    assert ["1"] == touched("/outbox?step=12")
    assert [] == touched("/outbox?step=11")
    assert ["1"] == touched("/outbox?rows=20&step=92")  # it is not among the newest


def test_the_presenter_view_shows_the_table_that_was_changed_last_and_the_source_that_acts(page):
    shown = page("/outbox?step=22&view=present").one(id="moment")

    assert ["outbox"] == [table["data-table"] for table in shown.all("table")]
    assert ["transaction"] == [panel.one("h2").one("code").text for panel in shown.all("section", class_="code")]


def test_effects_are_listed_and_repeats_are_numbered(run, page):
    for number in run.looked_at:
        seen, expected = [], []
        for effect in run.recording.steps[number - 1].state.effects:
            seen.append((effect.target, effect.what))
            again = [f"time {seen.count(seen[-1])}"] if seen.count(seen[-1]) > 1 else []
            expected.append(" ".join([effect.target, effect.what, *again, in_seconds(effect.at_ms)]))
        panels = page(run.address(step=number)).all("section", class_="effects")

        assert bool(run.recording.steps[-1].state.effects) == len(panels)
        assert [(expected or ["Nothing has happened yet."])[-moment.MOST["page"]["effects"] :]] * len(panels) == [
            [item.text for item in panel.all("li")] for panel in panels
        ]


def test_a_receipt_that_is_sent_twice_stands_out(page):
    again = page("/redelivery?step=last").one(class_="effects").one(class_="again")

    assert "time 2" == again.one("strong").text


# Long runs


def test_a_run_that_is_cut_off_says_so(page):
    shown = page(f"{LONG}&step=last").one(id="moment")

    assert [str(STEP_LIMIT), "limit"] == [shown["data-step"], shown["data-kind"]]
    assert f"reached the limit of {STEP_LIMIT:,} steps" in shown.one(class_="sentence").text


def test_a_page_of_a_long_run_stays_small(page, client, follow):
    address = f"{LONG}&step=last"
    shown = page(address)
    steps, log = shown.one(class_="all-steps"), shown.one(class_="log")
    whole = [panel.one(class_="more").one("a")["href"] for panel in (steps, shown.one(class_="timeline"), log)]

    assert 300 == len(steps.all("li"))
    assert moment.MOST["page"]["lines"] == len(log.all("li"))
    assert 12 == len(shown.one(class_="timeline").all(class_="row"))
    for lane in shown.all(class_="lane"):
        assert min(int(lane["data-count"]), moment.LANE_CARDS) == len(lane.all("li"))
    assert len(client.get(address).data) < 400_000
    assert [("/retries/run.txt", "1"), ("/retries/run.txt", "1"), ("/retries/run.txt", None)] == [
        (path, query.get("steps")) for path, query in map(follow, whole)
    ]
    assert STEP_LIMIT == len(re.findall(r"^ *\d+  t=", client.get(whole[0]).text, re.MULTILINE))


# Other addresses


def test_a_machine_can_ask_whether_we_are_there(client):
    response = client.get("/healthz")

    assert (200, "ok\n", "text/plain; charset=utf-8", "no-store") == (
        response.status_code,
        response.text,
        response.headers["Content-Type"],
        response.headers["Cache-Control"],
    )


def test_the_icon_that_browsers_ask_for_is_no_error(client):
    assert (204, b"") == (client.get("/favicon.ico").status_code, client.get("/favicon.ico").data)
