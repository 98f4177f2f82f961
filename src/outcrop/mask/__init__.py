"""MASK: what must not be found again? Keys and passwords in a text become stars, before anything else sees it."""

from outcrop.mask.document import mask_document
from outcrop.mask.text import mask_secrets

__all__ = ["mask_document", "mask_secrets"]
