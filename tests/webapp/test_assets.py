import gzip
import json

import brotli
import pytest
from flask import Flask, Response, jsonify, render_template_string

from webapp import assets

LONG = "Every job waits its turn. " * 100
FILES = {
    "app.css": "body { background: url('./img/dots.svg#a') }",
    "app.js": 'import { a } from "./keys.js";\nexport * from "./deep/more.mjs";\nimport "./vendor/ed/ed.js";',
    "deep/more.mjs": 'export const lazy = () => import("../keys.js");',
    "img/dots.svg": '<svg xmlns="http://www.w3.org/2000/svg"/>',
    "keys.js": f'export const keys = "{LONG}";',
    "run.wasm": "\0asm",
    "vendor/ed/ed.js": 'import "./not-here.js";',
    "vendor/.stamp": "x",
}


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def make_app(folder):
    app = Flask(__name__, static_folder=None)
    app.config["TESTING"] = True
    assets.install(app, folder)
    app.after_request(assets.squeeze)
    app.add_url_rule("/page", view_func=lambda: f"<p>{LONG}</p>", endpoint="page")
    app.add_url_rule("/short", view_func=lambda: "<p>short</p>", endpoint="short")
    app.add_url_rule("/json", view_func=lambda: jsonify(text=LONG), endpoint="json")

    @app.get("/stream")
    def stream():
        return Response((f"data: {LONG}\n\n" for _ in range(2)), mimetype="text/event-stream")

    @app.get("/finished-stream")
    def finished_stream():
        return Response(f"data: {LONG}\n\n", mimetype="text/event-stream")

    @app.get("/tagged")
    def tagged():
        response = Response(LONG, mimetype="text/plain")
        response.vary.add("HX-Request")
        response.set_etag("abc")
        return response

    @app.errorhandler(404)
    def not_found(_):
        return "our own page", 404

    return app


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "static", FILES)


@pytest.fixture
def app(folder):
    return make_app(folder)


@pytest.fixture
def client(app):
    return app.test_client()


@pytest.fixture
def address(app):
    return app.jinja_env.globals["asset"]


def get(client, path, encodings=""):
    return client.get(path, headers={"Accept-Encoding": encodings})


def test_a_template_gets_the_hashed_address(app):
    with app.app_context():
        page = render_template_string("{{ asset('app.css') }} {{ asset('vendor/ed/ed.js') }}")

    names = page.split()
    assert [True, True] == [
        names[0].startswith("/static/app.") and names[0].endswith(".css"),
        names[1].startswith("/static/vendor/ed/ed.") and names[1].endswith(".js"),
    ]


def test_a_missing_name_is_named(address):
    with pytest.raises(LookupError, match=r'no file "ap\.css" in static/$'):
        address("ap.css")
    with pytest.raises(LookupError, match=r'"vendor/x\.js" in static/: `pip install -e \.` builds static/vendor'):
        address("vendor/x.js")


@pytest.mark.parametrize(
    ("name", "content_type"),
    [
        ("keys.js", "text/javascript; charset=utf-8"),
        ("deep/more.mjs", "text/javascript; charset=utf-8"),
        ("app.css", "text/css; charset=utf-8"),
        ("img/dots.svg", "image/svg+xml; charset=utf-8"),
        ("run.wasm", "application/wasm"),
    ],
)
def test_types_do_not_depend_on_the_machine(client, address, name, content_type):
    assert content_type == client.get(address(name)).headers["Content-Type"]


@pytest.mark.parametrize("path", ["app.css", "app.000000000000.css", "vendor/.stamp", "../pyproject.toml", ""])
def test_any_other_address_is_the_404_page(client, path):
    response = client.get(f"/static/{path}")

    assert (404, "our own page") == (response.status_code, response.text)


@pytest.mark.parametrize(
    ("accepted", "sent", "decode"),
    [
        ("", None, bytes),
        ("gzip", "gzip", gzip.decompress),
        ("gzip, deflate, br", "br", brotli.decompress),
        ("br;q=0, *", "gzip", gzip.decompress),
        ("zstd", None, bytes),
    ],
)
def test_the_best_accepted_form_is_sent(client, address, accepted, sent, decode):
    response = get(client, address("keys.js"), accepted)

    assert (sent, FILES["keys.js"].encode()) == (
        response.headers.get("Content-Encoding"),
        decode(response.data),
    )
    assert "Accept-Encoding" == response.headers["Vary"]
    assert "public, max-age=31536000, immutable" == response.headers["Cache-Control"]


def test_a_known_tag_is_answered_304_for_its_own_form_only(client, address):
    tags = {form: get(client, address("keys.js"), form).headers["ETag"] for form in ("br", "gzip", "")}

    def status(tag, form):
        headers = {"Accept-Encoding": form, "If-None-Match": tag}
        return client.get(address("keys.js"), headers=headers).status_code

    assert 3 == len(set(tags.values()))
    assert [304, 304, 200] == [status(tags["br"], "br"), status(tags[""], ""), status(tags["br"], "gzip")]


def test_modules_name_one_another_by_hashed_addresses(client, address):
    def base(name):
        return address(name).rpartition("/")[2]

    assert (
        f'import {{ a }} from "./{base("keys.js")}";\n'
        f'export * from "./deep/{base("deep/more.mjs")}";\n'
        f'import "./vendor/ed/{base("vendor/ed/ed.js")}";'
    ) == client.get(address("app.js")).text
    assert f'import("../{base("keys.js")}")' in client.get(address("deep/more.mjs")).text
    assert f"url('./img/{base('img/dots.svg')}#a')" in client.get(address("app.css")).text


def test_third_party_files_are_served_as_they_are(client, address):
    assert FILES["vendor/ed/ed.js"] == client.get(address("vendor/ed/ed.js")).text


def test_a_change_changes_the_address_of_all_that_name_the_file(folder):
    before = assets.load(folder)
    write(folder, {"keys.js": "export const keys = 1;"})
    after = assets.load(folder)

    changed = [name for name in before if before[name].address != after[name].address]
    assert ["app.js", "deep/more.mjs", "keys.js"] == sorted(changed)


def test_a_module_that_is_not_there_is_named_with_its_user(tmp_path):
    with pytest.raises(ValueError, match=r"app\.js names kez\.js, which is not in static/"):
        assets.load(write(tmp_path / "static", {"app.js": 'import "./kez.js"'}))


def test_modules_in_a_circle_are_refused(tmp_path):
    files = {"a.js": 'import "./b.js"', "b.js": 'import "./a.js"'}

    with pytest.raises(ValueError, match=r"circle: a\.js -> b\.js -> a\.js"):
        assets.load(write(tmp_path / "static", files))


@pytest.mark.parametrize("path", ["/page", "/json"])
def test_a_finished_text_is_gzipped(client, path):
    plain, squeezed = get(client, path), get(client, path, "gzip, br")

    assert (None, "gzip") == (plain.headers.get("Content-Encoding"), squeezed.headers["Content-Encoding"])
    assert plain.data == gzip.decompress(squeezed.data)
    assert str(len(squeezed.data)) == squeezed.headers["Content-Length"]
    assert ["Accept-Encoding"] * 2 == [plain.headers["Vary"], squeezed.headers["Vary"]]


@pytest.mark.parametrize("path", ["/short", "/stream", "/finished-stream"])
def test_streams_and_short_texts_are_not_gzipped(client, path):
    assert "Content-Encoding" not in get(client, path, "gzip").headers


def test_squeezing_adds_to_vary_and_weakens_the_tag(client):
    response = get(client, "/tagged", "gzip")

    assert ("HX-Request, Accept-Encoding", 'W/"abc"') == (response.headers["Vary"], response.headers["ETag"])


def test_an_asset_is_not_compressed_twice(client, address):
    assert FILES["keys.js"].encode() == brotli.decompress(get(client, address("keys.js"), "br").data)


def test_the_same_text_is_gzipped_to_the_same_bytes(client):
    assert get(client, "/json", "gzip").data == get(client, "/json", "gzip").data
    assert LONG == json.loads(gzip.decompress(get(client, "/json", "gzip").data))["text"]
