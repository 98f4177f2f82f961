"""Ten notes as agents write them, 24 plain questions each with its note, and questions about none of them."""

from __future__ import annotations

from typing import Final

NOTES: Final = {
    "projects/orders/auth.md": "# Orders API\n\n"
    "## Authentication\n\nThe authentication method is JWT tokens with 1-hour "
    "expiry. Refresh tokens live for thirty days.\n",
    "projects/orders/deploy.md": "# Deploying orders\n\n"
    "Deploys run from the main branch through GitHub Actions. Production needs "
    "an approval by two people. Roll back with `make rollback`.\n",
    "preferences/writing.md": "# How I like answers\n\n"
    "Short, without bullet points. British spelling. Show the code before "
    "the explanation.\n",
    "decisions/queue.md": "# Queue: NATS instead of Kafka\n\n"
    "We chose NATS JetStream in May 2025: one binary to run, and "
    "nobody on the team wanted to look after ZooKeeper.\n",
    "ops/alerts.md": "# Alerts\n\n"
    "PagerDuty rings the person on duty. Disk usage over 85 % is a warning, over 95 % an "
    "emergency. Silence an alarm with /mute in the ops channel.\n",
    "people/contacts.md": "# Contacts\n\n"
    "- Priya Nair: product owner of checkout\n- Tomasz Wolski: security reviews\n- "
    "Legal: ask Hannah before any contract is signed\n",
    "home/boiler.md": "# Heating\n\nThe boiler is a Vaillant ecoTEC. Pressure should be 1.5 bar; the filling loop is "
    "under the sink. Serviced each September by Rowe & Sons.\n",
    "learning/rust-lifetimes.md": "# Rust lifetimes\n\n"
    "A struct that holds a reference needs a lifetime parameter. When the borrow "
    "checker complains, clone first and optimise later.\n",
    "bugs/timezone.md": "# Reports off by one day\n\n"
    "Dates were parsed in local time and saved in UTC, so evening orders "
    "landed on the next day. Fixed by parsing with an explicit zone.\n",
    "health/running.md": "# Running plan\n\n"
    "Half marathon on 4 October. Long run on Sundays, intervals on Wednesdays, "
    "rest on Mondays. Knee hurts above 50 km a week.\n",
}

ASKED: Final = [
    ("authentication method", "projects/orders/auth.md"),
    ("What authentication method do I use?", "projects/orders/auth.md"),
    ("how long until a JWT expires?", "projects/orders/auth.md"),
    ("login token lifetime", "projects/orders/auth.md"),
    ("how do we deploy to production?", "projects/orders/deploy.md"),
    ("undo a bad deploy", "projects/orders/deploy.md"),
    ("who must approve a release", "projects/orders/deploy.md"),
    ("how should answers be written?", "preferences/writing.md"),
    ("American or British spelling?", "preferences/writing.md"),
    ("Why not Kafka?", "decisions/queue.md"),
    ("which message queue did we choose?", "decisions/queue.md"),
    ("NATS JetStream", "decisions/queue.md"),
    ("at what disk usage do we get an alarm?", "ops/alerts.md"),
    ("how to mute alerts", "ops/alerts.md"),
    ("who does security reviews?", "people/contacts.md"),
    ("product owner for the checkout", "people/contacts.md"),
    ("What pressure should the boiler have?", "home/boiler.md"),
    ("heating maintenance company", "home/boiler.md"),
    ("borrow checker errors", "learning/rust-lifetimes.md"),
    ("When does a struct need a lifetime?", "learning/rust-lifetimes.md"),
    ("report shows the wrong day", "bugs/timezone.md"),
    ("UTC date parsing bug", "bugs/timezone.md"),
    ("when is my half marathon?", "health/running.md"),
    ("which days are rest days?", "health/running.md"),
]

BORDERLINE: Final = "what is the atmospheric pressure on Venus?"
"""Shares one of three words with the note on the boiler, and comes back with it, just above the floor."""

UNRELATED: Final = [
    "When did Krakatoa erupt?",
    "Who painted the Mona Lisa?",
    "What is the melting point of tungsten?",
    "How do bees make honey?",
    "lyrics of Yesterday by the Beatles",
    "Which river flows through Vienna?",
    "dinosaur extinction asteroid",
    "capital of Peru",
    "how many people live in Madagascar?",
    "Who was the first person in space?",
    "how long is the Great Wall?",
]

RIGHT_AT_LEAST: Final = 23
"""Of the 24 questions: one in a note's other words may be missed."""
