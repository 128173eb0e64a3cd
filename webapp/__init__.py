"""Queue Lab's web application. Nothing is imported here: the server must patch sockets and threads first."""


def create_app(config=None):
    """The Flask application; `config` overrides its settings."""
    from webapp.app import create_app

    return create_app(config)
