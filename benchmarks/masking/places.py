"""Keys that nothing but a name tells, the ways in which names and values are joined, and keys in manifests.

`NAMED` are variables of well-known services with keys of the form that these services give out; `WAYS` are templates
with a `{name}`, the same name in words (`{words}`), and a `{value}`.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable
from typing import Final

HEX, LOWER, ALNUM = (
    "0123456789abcdef",
    string.ascii_lowercase + string.digits,
    string.ascii_letters + string.digits,
)
ANY, BASE64 = f"{ALNUM}_-", f"{ALNUM}+/"
DJANGO = f"{LOWER}!@#$%^&*(-_=+)"

Draw = Callable[[random.Random], str]


def draw(alphabet: str, count: int, before: str = "", after: str = "") -> Draw:
    """So many characters by chance."""
    return lambda chance: before + "".join(chance.choice(alphabet) for _ in range(count)) + after


def draw_base64(count: int, before: str = "") -> Draw:
    """So many bytes in base64."""
    return lambda chance: before + base64.b64encode(chance.randbytes(count)).decode()


def draw_uuid(chance: random.Random) -> str:
    """A UUID."""
    return "-".join(draw(HEX, count)(chance) for count in (8, 4, 4, 4, 12))


NAMED: Final[dict[str, Draw]] = {
    "AWS_SECRET_ACCESS_KEY": draw(BASE64, 40),
    "AZURE_STORAGE_KEY": draw_base64(64),
    "AZURE_OPENAI_API_KEY": draw(HEX, 32),
    "CLOUDFLARE_API_TOKEN": draw(ANY, 40),
    "CLOUDFLARE_API_KEY": draw(HEX, 37),
    "FASTLY_API_TOKEN": draw(ANY, 32),
    "LINODE_TOKEN": draw(HEX, 64),
    "VULTR_API_KEY": draw(string.ascii_uppercase + string.digits, 36),
    "HEROKU_API_KEY": draw_uuid,
    "SNYK_TOKEN": draw_uuid,
    "CODECOV_TOKEN": draw_uuid,
    "PINECONE_API_KEY": draw_uuid,
    "VERCEL_TOKEN": draw(ALNUM, 24),
    "DATADOG_API_KEY": draw(HEX, 32),
    "DATADOG_APP_KEY": draw(HEX, 40),
    "ROLLBAR_ACCESS_TOKEN": draw(HEX, 32),
    "PAGERDUTY_TOKEN": draw(ANY, 20),
    "OKTA_API_TOKEN": draw(ANY, 40, "00"),
    "AUTH0_CLIENT_SECRET": draw(ANY, 64),
    "JWT_SECRET": draw_base64(32),
    "SECRET_KEY": draw(DJANGO, 50),
    "SECRET_KEY_BASE": draw(HEX, 128),
    "APP_KEY": draw_base64(32, "base64:"),
    "FLASK_SECRET_KEY": draw(HEX, 48),
    "SESSION_SECRET": draw(ALNUM, 32),
    "TWILIO_AUTH_TOKEN": draw(HEX, 32),
    "ALGOLIA_ADMIN_KEY": draw(HEX, 32),
    "MAILCHIMP_API_KEY": draw(HEX, 32, after="-us12"),
    "SONAR_TOKEN": draw(HEX, 40),
    "JIRA_API_TOKEN": draw(ALNUM, 24),
    "ZENDESK_TOKEN": draw(ALNUM, 40),
    "INTERCOM_ACCESS_TOKEN": draw_base64(44),
    "COHERE_API_KEY": draw(ALNUM, 40),
    "MISTRAL_API_KEY": draw(ALNUM, 32),
    "DEEPGRAM_API_KEY": draw(HEX, 40),
    "ELEVENLABS_API_KEY": draw(HEX, 32),
    "RAPIDAPI_KEY": draw(ALNUM, 50),
    "OPENWEATHER_API_KEY": draw(HEX, 32),
    "BINANCE_API_SECRET": draw(ALNUM, 64),
    "KRAKEN_PRIVATE_KEY": draw_base64(64),
    "PLAID_SECRET": draw(HEX, 30),
    "TWITTER_CONSUMER_SECRET": draw(ALNUM, 50),
    "DB_PASSWORD": draw(f"{ALNUM}!@#%^&*?", 16),
    "REDIS_PASSWORD": draw(ALNUM, 24),
}

WAYS: Final[dict[str, str]] = {
    "NAME=value": "A=1\n{name}={value}\nB=2\n",
    "name: value": "a: 1\n{name}: {value}\nb: 2\n",
    "JSON": '{{"a": 1, "{name}": "{value}", "b": 2}}',
    "code": '{name} = "{value}"\n',
    ".NET settings": '<appSettings>\n  <add key="{name}" value="{value}" />\n</appSettings>',
    "name and value, YAML": "env:\n  - name: {name}\n    value: {value}\n",
    "name and value, JSON": '[{{"name": "{name}", "value": "{value}"}}]',
    "property list": "<key>{name}</key>\n    <string>{value}</string>",
    "Markdown table": "| Name | Value |\n|---|---|\n| `{name}` | `{value}` |\n",
    "HTML table": "<tr><td>{name}</td>\n<td><code>{value}</code></td></tr>",
    "row with bars": "Name | Value\n{name} | {value}\nother | thing\n",
    "CSV row": "name,value\n{name},{value}\nother,thing\n",
    "CSV column": "id,user,{name},note\n1,anna,{value},first\n2,otto,{value},second\n",
    "TSV column": "id\tuser\t{name}\n1\tanna\t{value}\n",
    "Markdown column": "| user | {name} |\n|------|------|\n| anna | {value} |\n",
    "NAME value": "FROM scratch\nENV {name} {value}\nRUN make\n",
    "columns of spaces": "LANG                     C.UTF-8\n{name}            {value}\n",
    "chat": "anna: the {words} is {value}, please do not share it\n",
    "chat, for something": "hi, {words} for the staging box is now {value}\n",
    "arrow": "{words} → {value}\n",
    "line below": "{words}\n{value}\n\nMore text.\n",
    "paragraph below": "{words}:\n\n{value}\n\nMore text.\n",
}


def manifest(name: str, value: str) -> str:
    """A key in a Secret of Kubernetes."""
    key = name.lower().replace("_", "-")
    packed = base64.b64encode(value.encode()).decode()
    return f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: app\ntype: Opaque\ndata:\n  {key}: {packed}\n"
