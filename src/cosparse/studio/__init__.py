"""The web page: repair a picture, learn an operator, look inside. Needs the extra `web`."""

from cosparse.studio.server import serve

__all__ = ["serve"]
