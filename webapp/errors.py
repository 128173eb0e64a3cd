"""What goes wrong is said in the form that was asked for: a page, JSON or text."""

from typing import Any

from flask import Flask, Response, jsonify, render_template, request
from werkzeug.exceptions import BadRequest, HTTPException, RequestEntityTooLarge

from webapp.asked import BadQuery, NotThere


def install(app: Flask) -> None:
    """Answer every error of the application."""

    @app.before_request
    def query_is_text() -> None:
        try:
            request.args  # noqa: B018 (reading it is what fails)
        except UnicodeDecodeError:  # raw bytes; browsers send %FF, which is text
            raise BadRequest("The query of this address is not UTF-8.") from None

    @app.errorhandler(BadQuery)
    def bad_query(error: BadQuery) -> Response:
        page, told = {**error.page, "problems": error.problems}, {"problems": [vars(one) for one in error.problems]}
        return answer(error.status, error.title, str(error), told, error.template, page)

    @app.errorhandler(NotThere)
    def not_there(error: NotThere) -> Response:
        return answer(404, "Not here", str(error), {"back": error.back}, "error.html", {"back": error.back})

    @app.errorhandler(HTTPException)
    def http_error(error: HTTPException) -> Response:
        code = error.code or 500
        if code < 400:
            return error.get_response(request.environ)  # type: ignore[return-value]
        message = "There is nothing at this address." if code == 404 else error.description or error.name
        if isinstance(error, RequestEntityTooLarge):  # which of them it was, Werkzeug does not tell
            sizes = (app.config[f"MAX_{name}"] for name in ("FORM_PARTS", "FORM_MEMORY_SIZE", "CONTENT_LENGTH"))
            message = "A form must have at most {:,} parts, {:,} bytes beside its files, and {:,} bytes in all."
            message = message.format(*sizes)
        response = answer(code, error.name, message, {"back": "/"}, "error.html", {"back": "/"})
        for name, value in error.get_headers(request.environ):
            if name.lower() in ("allow", "retry-after"):
                response.headers[name] = value
        return response


def answer(
    status: int, title: str, message: str, data: dict[str, Any], template: str, page: dict[str, Any]
) -> Response:
    """What is wrong, as a page made from the template, as JSON with `data`, or as text: as it was asked for."""
    match _form_asked_for():
        case "json":
            response = jsonify({"error": title, "message": message, **data})
        case "text":
            response = Response(message + "\n", mimetype="text/plain")
        case _:
            response = Response(render_template(template, title=title, message=message, **page))
    response.status_code = status
    response.vary.add("Accept")
    return response


def _form_asked_for() -> str:
    if request.path.endswith(".json"):
        return "json"
    if request.path.endswith((".txt", "/stream", "/healthz")):
        return "text"
    best = request.accept_mimetypes.best_match(["text/html", "application/json", "text/plain"], default="text/html")
    return {"application/json": "json", "text/plain": "text"}.get(best, "page")
