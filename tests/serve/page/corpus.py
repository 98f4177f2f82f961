"""A small real folder for the page: notes, code, a PDF, a file that cannot be read, and a document that attacks."""

from __future__ import annotations

from pathlib import Path

ATTACK_NAME = "<img src=x onerror=window.pwned=1>.md"
ATTACK = """---
title: "<script>window.pwned = 1</script>"
---
# Quarry <script>window.pwned = 1</script> "onmouseover="window.pwned=1

The quarry script tries <img src=x onerror="window.pwned = 1"> and <svg onload=window.pwned=1>.

[quarry link](javascript:window.pwned=1) [data](data:text/html,<script>window.pwned=1</script>)
[rel](//evil.example/x) [go](https://example.org/"onclick="window.pwned=1)
![quarry image](https://evil.example/pixel.png "x") <https://evil.example/auto>

| a | b |
|:-:|--:|
| <b onclick=window.pwned=1>1</b> | 2 |

```html"><script>window.pwned=1</script>
<script>window.pwned = 1</script>
```

</div></template></style><iframe srcdoc="<script>parent.pwned=1</script>"></iframe>
"""

POOL = '''"""Connections that are used again."""

from __future__ import annotations

import threading
from collections import deque


class ConnectionPool:
    """Keeps connections open and hands them out."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._free: deque[Connection] = deque()
        self._lock = threading.Lock()

    def acquire(self, timeout_s: float = 5.0) -> Connection:
        """A free connection; a new one when none is free and the pool is not full."""
        with self._lock:
            if self._free:
                return self._free.popleft()
        return open_connection(timeout_s)

    def release(self, connection: Connection) -> None:
        """Give a connection back, so that the next caller need not wait."""
        with self._lock:
            self._free.append(connection)


class Connection:
    """One open connection to the database."""

    def execute(self, statement: str) -> list[str]:
        """Run a statement and read its rows."""
        return retry(lambda: [statement], attempts=3)


def open_connection(timeout_s: float) -> Connection:
    """Connect, waiting at most `timeout_s`."""
    return retry(Connection, attempts=2, pause_s=timeout_s / 10)


def retry(work, attempts: int, pause_s: float = 0.1):
    """Do it again when it fails, waiting twice as long each time."""
    for attempt in range(attempts):
        try:
            return work()
        except OSError:
            pause_s *= 2
    raise TimeoutError(attempts)
'''

SERVICE = '''"""The service that answers questions about orders."""

from pool import ConnectionPool


class Orders:
    """Orders in the database."""

    def __init__(self) -> None:
        self.pool = ConnectionPool(8)

    def find(self, number: int) -> list[str]:
        """An order by its number."""
        connection = self.pool.acquire()
        try:
            return connection.execute(f"select * from orders where number = {number}")
        finally:
            self.pool.release(connection)
'''

RETRIES = """---
title: How retries work
tags: [network, reliability]
---
# Retries

A request that fails for a passing reason is sent again. The pause doubles after each attempt.

## When to retry

Retry on a timeout and on status 503. Do **not** retry a request that changed something, unless it is idempotent.

| status | retry |
|---|---|
| 503 | yes |
| 404 | no |

## Limits

```python
def pause(attempt: int) -> float:
    return min(30.0, 0.1 * 2 ** attempt)
```

After five attempts the caller is told. See [the pool](pool.py) and <https://example.org/backoff>.
"""

NOTES = {
    "timeouts.md": "# Timeouts\n\nEvery call has a deadline. A connection that takes longer is closed, and the "
    "caller is told.\n\n"
    "## Deadlines\n\nThe deadline travels with the request, so that a retry never outlives the caller's patience.\n",
    "backups.md": "# Backups\n\nThe database is copied every night. A copy that was never restored is not a backup.\n\n"
    "## Restore\n\nRestore into a fresh machine once a month and compare the row counts.\n",
    "meeting.txt": "Minutes of March 3rd\n\nWe agreed to keep connections open for a minute.\n"
    "Anna looks at the retry budget.\n",
    "queue.md": "# Queue\n\nWork that can wait goes to the queue. A worker takes one job, does it, and only then "
    "forgets it.\n",
}


def write_pdf(path: Path) -> None:
    """Two pages of prose."""
    from reportlab.lib.pagesizes import A4
    from reportlab.pdfgen import canvas

    page = canvas.Canvas(str(path), pagesize=A4)
    for number, lines in enumerate(
        (
            ["Geology of the harbour", "", "The harbour is cut into limestone. Its walls show three layers."],
            [
                "Second page: granite",
                "",
                "Granite boulders were brought by glaciers from the northern valleys.",
            ],
        ),
        1,
    ):
        for row, line in enumerate(lines):
            page.drawString(72, 760 - 18 * row, line)
        page.drawString(280, 40, str(number))
        page.showPage()
    page.save()


def write_corpus(folder: Path) -> Path:
    """The folder, made."""
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "pool.py").write_text(POOL)
    (folder / "src" / "orders.py").write_text(SERVICE)
    (folder / "retries.md").write_text(RETRIES)
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    (folder / ATTACK_NAME).write_text(ATTACK)
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 this is not one")
    write_pdf(folder / "harbour.pdf")
    return folder
