"""The application, assembled."""

from collections.abc import Mapping
from typing import Any

from flask import Flask, Response

from lessons.recording import in_seconds
from webapp import assets, errors, glossary, pages, practice, progress, quiz, runs, testing
from webapp.asked import DEFAULT_PACE_MS

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def create_app(config: Mapping[str, Any] | None = None) -> Flask:
    """The Flask application. `config` may set DATABASE, where progress is kept, and MAX_STREAMS of webapp.runs."""
    root = assets.data_root()
    app = Flask(__name__, static_folder=None, template_folder=str(root / "templates"))
    app.config.from_mapping(runs.DEFAULTS, MAX_CONTENT_LENGTH=progress.MOST_BYTES)
    app.config.from_mapping(config or {})
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.json.ensure_ascii = False  # type: ignore[attr-defined]
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.filters["seconds"] = in_seconds
    app.jinja_env.globals |= {"default_pace_ms": DEFAULT_PACE_MS, "quiz": quiz.RULES}
    assets.install(app, root / "static")
    errors.install(app)
    app.register_blueprint(glossary.bp)
    app.register_blueprint(pages.bp)
    app.register_blueprint(practice.bp)
    app.register_blueprint(progress.bp)
    app.register_blueprint(quiz.bp)
    app.register_blueprint(runs.bp)
    app.register_blueprint(testing.bp)
    app.after_request(_headers)
    app.after_request(assets.squeeze)
    return app


def _headers(response: Response) -> Response:
    response.headers.setdefault("Content-Security-Policy", PAGE_POLICY)
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    response.headers.setdefault("Referrer-Policy", "same-origin")
    response.headers.setdefault("Cache-Control", "no-cache")
    return response
