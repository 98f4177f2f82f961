"""Mail messages: one document a message, without what it quotes."""

from outcrop.parse.mail.reader import read, read_plain_message

__all__ = ["read", "read_plain_message"]
