"""Pictures as files hold them: formats, values, metadata, masks; written whole or not at all.

:mod:`cosparse.images` has the public names.
"""
