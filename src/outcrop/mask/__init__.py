"""Keys and passwords in a text become stars before anything else sees them.

Written by hand: scanners made for repositories report findings, whereas this hides just the secret part of every
document that is added, in linear time on any input.
"""

from outcrop.mask.document import mask_document, mask_secrets

__all__ = ["mask_document", "mask_secrets"]
