"""The table of all targets that run in worker processes; HTTP and MCP are in `servers.py`."""

from __future__ import annotations

from proofs.fuzz.archives import ARCHIVES
from proofs.fuzz.conditions import CONDITIONS
from proofs.fuzz.configs import CONFIGS
from proofs.fuzz.guards import GUARDS
from proofs.fuzz.layouts import LAYOUTS
from proofs.fuzz.mails import MAILS
from proofs.fuzz.packers import PACKERS
from proofs.fuzz.parsers import PARSERS
from proofs.fuzz.scans import SCANS
from proofs.fuzz.target import Target
from proofs.fuzz.texts import TEXTS

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        *PARSERS,
        *LAYOUTS,
        *SCANS,
        *TEXTS,
        *PACKERS,
        *GUARDS,
        *CONFIGS,
        *MAILS,
        *ARCHIVES,
        *CONDITIONS,
    )
}
"""Every target by its name."""
