"""The web page: repair a picture, learn an operator, look inside. Needs the extra `web`."""

from cosparse.studio.limits import Limits
from cosparse.studio.place import Place
from cosparse.studio.server import serve

__all__ = ["Limits", "Place", "serve"]
