"""The files of static/, each at an address with a hash of its content, so browsers may keep it for a year.

They are read and compressed once, at start; a large one is compressed when it is first asked for. In our
scripts and stylesheets a quoted address that begins with ./ or ../ ("./keys.js") becomes the hashed one;
files in vendor/ are served as they are. A folder of FIXED keeps its files' names and has the hash itself.
"""

import gzip
import hashlib
import posixpath
import re
from dataclasses import dataclass
from functools import cache
from mimetypes import MimeTypes
from pathlib import Path

import brotli
from flask import Flask, Response, abort, request

SMALL = 500  # bytes; below it compression gains less than its header costs
LARGE = 100_000  # bytes; from here on the best compression takes a second or more
FIXED = ("vendor/pyodide",)  # it loads its own files, by their names, from one folder
REFERENCE = re.compile(r"""(?<=["'(])\.{1,2}/[\w./-]+\.\w+(?=["')?#])""")
TYPES = MimeTypes()  # Python's own table: a machine's can say that .js is text/plain
TYPES.add_type("text/javascript", ".js")
TYPES.add_type("text/javascript", ".mjs")


@dataclass(frozen=True)
class Asset:
    address: str
    digest: str
    mimetype: str
    body: bytes
    encodings: tuple[str, ...]  # the preferred first

    @property
    def href(self) -> str:
        return f"/static/{self.address}"

    def form(self, encoding: str) -> bytes:
        return _form(self.body, encoding)


def data_root() -> Path:
    """Where static/ and templates/ are: inside this package in a wheel, beside it in a checkout."""
    package = Path(__file__).resolve().parent
    return package if (package / "templates").is_dir() else package.parent


def install(app: Flask, folder: Path) -> None:
    """Serve the folder's files under /static/ and give templates `asset("app.css")`, a file's address."""
    assets = app.extensions["assets"] = load(folder)
    served = {asset.address: asset for asset in assets.values()}

    def asset(name: str) -> str:
        if name not in assets:
            raise LookupError(f'there is no file "{name}" in {folder.name}/{_hint(name)}')
        return assets[name].href

    def serve(address: str) -> Response:
        found = served.get(address) or abort(404)
        encoding = next((e for e in found.encodings if request.accept_encodings[e]), "identity")
        response = Response(found.form(encoding), mimetype=found.mimetype)
        if encoding != "identity":
            response.content_encoding = encoding
        response.vary.add("Accept-Encoding")
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        response.set_etag(f"{found.digest}-{encoding}")
        response.make_conditional(request)
        return response

    app.jinja_env.globals["asset"] = asset
    app.add_url_rule("/static/<path:address>", "static", serve)


def load(folder: Path) -> dict[str, Asset]:
    """The folder's files by name; ValueError for a reference that leads nowhere or round in a circle."""
    sources = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }
    fixed = {
        top: _digest(b"".join(name.encode() + body for name, body in sources.items() if name.startswith(f"{top}/")))
        for top in FIXED
    }
    assets: dict[str, Asset] = {}

    def add(name: str, *users: str) -> Asset:
        # A file's hash covers the hashes of the files it names, so those come first.
        if name not in sources:
            raise ValueError(f"{users[-1]} names {name}, which is not in {folder.name}/{_hint(name)}")
        if name in users:
            circle = " -> ".join([*users, name])
            raise ValueError(f"files in {folder.name}/ name one another in a circle: {circle}")
        if name not in assets:
            body = sources[name]
            if name.endswith((".js", ".mjs", ".css")) and not name.startswith("vendor/"):

                def hashed(reference: re.Match[str]) -> str:
                    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), reference[0]))
                    address = posixpath.relpath(add(target, *users, name).address, posixpath.dirname(name) or ".")
                    return address if address.startswith("../") else f"./{address}"

                body = REFERENCE.sub(hashed, body.decode()).encode()
            folder_digest = next((digest for top, digest in fixed.items() if name.startswith(f"{top}/")), "")
            assets[name] = _asset(name, body, folder_digest)
        return assets[name]

    for name in sources:
        add(name)
    return assets


@cache  # many applications in one process, as in tests, compress a file once
def _asset(name: str, body: bytes, folder_digest: str) -> Asset:
    digest = _digest(body)
    stem, suffix = posixpath.splitext(name)
    address = f"{stem}.{digest}{suffix}"
    if folder_digest:
        folder, _, file = name.rpartition("/")
        address = f"{folder}.{folder_digest}/{file}"
    mimetype = TYPES.guess_type(name)[0] or "application/octet-stream"
    squeezable = (_is_text(mimetype) or mimetype == "application/wasm") and len(body) >= SMALL
    asset = Asset(address, digest, mimetype, body, ("br", "gzip") if squeezable else ())
    if len(body) < LARGE:
        for encoding in asset.encodings:
            asset.form(encoding)
    return asset


@cache
def _form(body: bytes, encoding: str) -> bytes:
    match encoding, len(body) < LARGE:
        case "br", small:
            return brotli.compress(body, quality=11 if small else 3)
        case "gzip", small:
            return gzip.compress(body, 9 if small else 1, mtime=0)
    return body


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:12]


def squeeze(response: Response) -> Response:
    """The response, gzipped if it is finished text of some length and the client takes gzip."""
    if (
        response.is_streamed
        or response.direct_passthrough
        or response.content_encoding
        or not _is_text(response.mimetype or "")
    ):
        return response
    response.vary.add("Accept-Encoding")
    body = response.get_data()
    if len(body) >= SMALL and request.accept_encodings["gzip"]:
        response.set_data(gzip.compress(body, 5, mtime=0))
        response.content_encoding = "gzip"
        etag, _ = response.get_etag()
        if etag:  # the bytes are no longer those the strong tag was for
            response.set_etag(etag, weak=True)
    return response


def _is_text(mimetype: str) -> bool:
    return mimetype.endswith(("json", "xml")) or (mimetype.startswith("text/") and "stream" not in mimetype)


def _hint(name: str) -> str:
    return ": `pip install -e .` builds static/vendor" if name.startswith("vendor/") else ""
