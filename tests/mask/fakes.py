"""Keys as real as they can be without opening anything: the forms are those of the issuers, the rest is drawn."""

from __future__ import annotations

import base64
import json
import os
import random
import string

_DRAWN: dict[str, random.Random] = {}

HEX = "0123456789abcdef"
ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
BASE32 = string.ascii_uppercase + "234567"
ANY = ALNUM + "_-"


def _chance() -> random.Random:
    """What a test draws is the same in every run, whatever ran before it in this process."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "")
    return _DRAWN.setdefault(test, random.Random(f"20 {test}"))


def draw(alphabet: str, count: int) -> str:
    """Characters by chance."""
    chance = _chance()
    return "".join(chance.choice(alphabet) for _ in range(count))


def uuid() -> str:
    """A UUID by chance."""
    return "-".join(draw(HEX, count) for count in (8, 4, 4, 4, 12))


def base64_of(count: int) -> str:
    """Bytes by chance in base64."""
    return base64.b64encode(_chance().randbytes(count)).decode()


def json_part(value: object) -> str:
    """A part of a JSON web token."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def private_key(kind: str = "RSA ", lines: int = 12) -> str:
    """A private key of no use: the lines are drawn."""
    body = "\n".join(base64_of(48) for _ in range(lines))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n{base64_of(17)}\n-----END {kind}PRIVATE KEY-----\n"


JWT = (json_part({"alg": "HS256", "typ": "JWT"}), json_part({"sub": "4711", "role": "admin"}), draw(ANY, 43))

# (kept, masked) of each format by the name that the table gives it.
FAKES: dict[str, tuple[str, str]] = {
    "AWS access key": ("AKIA", draw(BASE32, 16)),
    "AWS Bedrock": ("ABSK", base64_of(96).replace("+", "a").replace("/", "b")),
    "Google API": ("AIza", draw(ANY, 35)),
    "Google OAuth client": ("GOCSPX-", draw(ANY, 28)),
    "Google access token": ("ya29.", draw(ANY, 180)),
    "Google refresh token": ("1//", "0" + draw(ANY, 90)),
    "Azure client": ("abc8Q~", draw(ALNUM + "-_", 34)),
    "Alibaba": ("LTAI", draw(ALNUM, 20)),
    "DigitalOcean": ("dop_v1_", draw(HEX, 64)),
    "Heroku": ("HRKU-", "AA" + draw(ANY, 58)),
    "Fly": ("fm2_", "lJPECAAAAAAA" + draw(ALNUM, 40) + "/+" + draw(ALNUM, 300)),
    "Netlify": ("nfp_", draw(ALNUM, 36)),
    "Supabase": ("sbp_", draw(HEX, 40)),
    "Databricks": ("dapi", draw(HEX, 32)),
    "PlanetScale": ("pscale_tkn_", draw(ANY, 43)),
    "Tailscale": ("tskey-auth-", draw(ALNUM, 12) + "-" + draw(ALNUM, 32)),
    "Terraform Cloud": (draw(ALNUM, 14) + ".atlasv1.", draw(ANY, 67)),
    "Vault": ("hvs.", "CAES" + draw(ANY, 91)),
    "Doppler": ("dp.pt.", draw(ALNUM, 43)),
    "Pulumi": ("pul-", draw(HEX, 40)),
    "GitHub": ("ghp_", draw(ALNUM, 36)),
    "GitHub fine-grained": ("github_pat_", draw(ALNUM, 22) + "_" + draw(ALNUM, 59)),
    "GitLab": ("glpat-", draw(ANY, 20)),
    "GitLab runner": ("GR1348941", draw(ANY, 20)),
    "Atlassian": ("ATATT3", "xFfGF0" + draw(ANY, 180) + "=" + draw("0123456789ABCDEF", 8)),
    "npm": ("npm_", draw(ALNUM, 36)),
    "PyPI": ("pypi-", "AgEIcHlwaS5vcmc" + draw(ANY, 150)),
    "RubyGems": ("rubygems_", draw(HEX, 48)),
    "NuGet": ("oy2", draw(LOWER, 43)),
    "crates.io": ("cio", draw(ALNUM, 32)),
    "Docker Hub": ("dckr_pat_", draw(ANY, 27)),
    "Artifactory": ("AKCp", draw(ALNUM, 69)),
    "CircleCI": ("CCIPAT_", draw(ALNUM, 22) + "_" + draw(HEX, 40)),
    "Buildkite": ("bkua_", draw(ALNUM, 40)),
    "Sourcegraph": ("sgp_", draw(HEX, 16) + "_" + draw(HEX, 40)),
    "Postman": ("PMAK-", draw(HEX, 24) + "-" + draw(HEX, 34)),
    "Anthropic": ("sk-ant-api03-", draw(ANY, 93) + "AA"),
    "OpenAI": ("sk-proj-", draw(ANY, 74) + "T3BlbkFJ" + draw(ANY, 74)),
    "OpenRouter": ("sk-or-v1-", draw(HEX, 64)),
    "OpenAI and others alike": ("sk-", draw(ALNUM, 20) + "T3BlbkFJ" + draw(ALNUM, 20)),
    "Hugging Face": ("hf_", draw(string.ascii_letters, 34)),
    "Groq": ("gsk_", draw(ALNUM, 52)),
    "xAI": ("xai-", draw(ALNUM, 80)),
    "Perplexity": ("pplx-", draw(ALNUM, 48)),
    "Replicate": ("r8_", draw(ALNUM, 37)),
    "LangSmith": ("lsv2_pt_", draw(HEX, 32) + "_" + draw(HEX, 10)),
    "Slack": ("xoxb-", draw("123456789", 12) + "-" + draw("123456789", 13) + "-" + draw(ALNUM, 24)),
    "Slack app": ("xapp-1-", "A" + draw(UPPER, 10) + "-" + draw("123456789", 13) + "-" + draw(HEX, 64)),
    "Telegram": (draw("123456789", 10) + ":", "AA" + draw(ANY, 33)),
    "Discord": ("MT", "EyNzQ2NTE4MzQ1NjA5MjE4Nw." + draw(ANY, 6) + "." + draw(ANY, 38)),
    "SendGrid": ("SG.", draw(ANY, 22) + "." + draw(ANY, 43)),
    "Twilio API": ("SK", draw(HEX, 32)),
    "Mailgun": ("key-", draw(HEX, 32)),
    "Brevo": ("xkeysib-", draw(HEX, 64) + "-" + draw(ALNUM, 16)),
    "Stripe": ("sk_live_", draw(ALNUM, 24)),
    "Stripe webhook": ("whsec_", draw(ALNUM, 32)),
    "Square": ("sq0atp-", draw(ANY, 22)),
    "Shopify": ("shpat_", draw(HEX, 32)),
    "Linear": ("lin_api_", draw(ALNUM, 40)),
    "Notion": ("ntn_", draw("123456789", 11) + draw(ALNUM, 35)),
    "Notion, older": ("secret_", draw(ALNUM, 43)),
    "Airtable": ("pat" + draw(ALNUM, 14) + ".", draw(HEX, 64)),
    "Figma": ("figd_", draw(ANY, 43)),
    "HubSpot": ("pat-na1-", uuid()),
    "Contentful": ("CFPAT-", draw(ANY, 43)),
    "Typeform": ("tfp_", draw(ALNUM, 44) + "_" + draw(ALNUM, 14)),
    "Dropbox": ("sl.", draw(ANY, 140)),
    "Mapbox": ("sk.", "eyJ1Ijo" + draw(ALNUM, 80) + "." + draw(ANY, 22)),
    "Sentry": ("sntrys_", "eyJpYXQiO" + draw(ALNUM, 120) + "_" + draw(ALNUM, 43)),
    "Grafana": ("glsa_", draw(ALNUM, 32) + "_" + draw(HEX, 8)),
    "New Relic": ("NRAK-", draw(UPPER, 27)),
    "Dynatrace": ("dt0c01." + draw(UPPER, 24) + ".", draw(UPPER, 64)),
    "JSON web token": (f"{JWT[0]}.", f"{JWT[1]}.{JWT[2]}"),
    "1Password": ("ops_eyJ", draw(ALNUM, 400)),
    "age": ("AGE-SECRET-KEY-1", draw("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)),
}
