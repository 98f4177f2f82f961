"""Short texts and how many tokens each is for Llama 2, Claude, cl100k and o200k, counted with their own tokenizers."""

# ruff: noqa: E501 — a text that was measured is left in one piece
from __future__ import annotations

import base64
import random

_RANDOM = random.Random(20)


def _letters(alphabet: str) -> str:
    return " ".join("".join(_RANDOM.choices(alphabet, k=_RANDOM.randrange(2, 11))) for _ in range(40))


TEXTS = {
    "prose": "The harbour was quiet when the ferry came in. Two men carried the crates ashore, and a third wrote down "
    "what each of them held: rope, lamp oil, a barrel of nails, and the letters that everybody had been waiting for. "
    "Nobody spoke until the last one was opened.",
    "technical prose": "Each shard keeps a write-ahead log; a checkpoint copies dirty pages back and truncates it. When "
    "a replica falls behind by more than max_lag_bytes, the coordinator stops routing reads to it and raises "
    "REPLICA_STALE until it has caught up.",
    "python": "def merge(left: list[int], right: list[int]) -> list[int]:\n    out = []\n    i = j = 0\n"
    "    while i < len(left) and j < len(right):\n        if left[i] <= right[j]:\n            out.append(left[i])\n"
    "            i += 1\n        else:\n            out.append(right[j])\n            j += 1\n"
    "    return out + left[i:] + right[j:]\n",
    "javascript": "const debounce = (fn, ms = 250) => {\n  let timer;\n  return (...args) => {\n"
    "    clearTimeout(timer);\n    timer = setTimeout(() => fn.apply(this, args), ms);\n  };\n};\n"
    "window.addEventListener('resize', debounce(() => layoutGrid(), 100));\n",
    "json": '{"id": 4711, "name": "basalt", "tags": ["rock", "grey"], "at": {"lat": 64.13, "lon": -21.94}, "ok": true}\n'
    * 2,
    "table": "| stone | density | hard |\n|---|---:|---|\n| basalt | 3.01 | yes |\n| chalk | 2.50 | no |\n| gneiss | 2.75 | yes |\n",
    "log": "2026-01-31 12:04:55,017 WARN [worker-3] retry 2/5 for job 8f3a after 1500 ms: ECONNRESET\n" * 2,
    "german": "Der Übersetzungsdienst überprüft zunächst die Schlüssel und schließt anschließend sämtliche Verbindungen, "
    "bevor die Größe des Zwischenspeichers geändert wird.",
    "french": "L'été dernier, le géologue a relevé les affleurements près du fleuve et noté l'âge probable des couches.",
    "turkish": "Sunucu yeniden başlatıldığında bağlantılar kapanır ve bekleyen işler sıraya alınır, böylece veri kaybolmaz.",
    "indonesian": "Perangkat lunak ini membaca berkas dari folder, memotongnya menjadi bagian kecil, lalu mencari bagian "
    "yang paling sesuai dengan pertanyaan pengguna.",
    "russian": "Сервер закрывает соединения и записывает журнал на диск, прежде чем начать новую проверку данных.",
    "greek": "Ο διακομιστής κλείνει τις συνδέσεις και γράφει το ημερολόγιο πριν από τον επόμενο έλεγχο.",
    "chinese": "服务器在开始新的检查之前会关闭所有连接，并把日志写入磁盘；岩石的年龄由同位素测定。",
    "japanese": "サーバーは新しい検査を始める前に、すべての接続を閉じて、ログをディスクに書き込みます。",
    "korean": "서버는 새로운 검사를 시작하기 전에 모든 연결을 닫고 로그를 디스크에 기록합니다.",
    "arabic": "يغلق الخادم جميع الاتصالات ويكتب السجل على القرص قبل بدء فحص جديد للبيانات.",
    "hindi": "सर्वर नई जाँच शुरू करने से पहले सभी कनेक्शन बंद कर देता है और लॉग डिस्क पर लिखता है।",
    "thai": "เซิร์ฟเวอร์จะปิดการเชื่อมต่อทั้งหมดและเขียนบันทึกลงดิสก์ก่อนเริ่มการตรวจสอบใหม่",
    "amharic": "አገልጋዩ አዲስ ፍተሻ ከመጀመሩ በፊት ሁሉንም ግንኙነቶች ይዘጋል።",
    "emoji": "👩‍🔬🧪🪨⛏️🌋🔥🎉👍🏽🇮🇸🏔️✨🚀" * 3,
    "symbols": "∀x ∈ ℝ: x² ≥ 0 → √x² = |x| • ½ ± ¼ … “quoted” — ™ ✓ ✗ ★ ☂ ⇒ ≤ ≠ ∑ ∫ " * 2,
    "base64": base64.b64encode(bytes(_RANDOM.randrange(256) for _ in range(150))).decode(),
    "hexadecimal": bytes(_RANDOM.randrange(256) for _ in range(80)).hex(),
    "digits": " ".join(str(_RANDOM.randrange(1000)) for _ in range(40)),
    "letters at random": _letters("abcdefghijklmnopqrstuvwxyz"),
    "capitals at random": _letters("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    "one pair of letters": "ab" * 120,
    "capitals": "THE MOTION OF A WING NEAR THE GROUND WAS STUDIED IN A WATER TUNNEL AT LOW REYNOLDS NUMBERS AND COMPARED.",
    "deep indentation": "\n".join(" " * (4 * (i % 9)) + "x" for i in range(30)),
    "blank lines": "a\n\n\n\nb\n\n" * 20,
    "only newlines": "\n" * 80,
    "tabs": "\t\t\tx\n\t\ty\n" * 15,
    "spaces and newlines": " \n  \n \t\n" * 15,
    "dashes": "-" * 120,
    "marks": "!@#$%^&*()_+{}|:\"<>?~`'\\;/=" * 4,
    "control characters": "\x00\x01\x1b[31m" * 15,
}
TOKENS: dict[str, tuple[int, int, int, int]] = {
    "prose": (65, 58, 58, 58),
    "technical prose": (63, 55, 51, 53),
    "python": (112, 99, 88, 88),
    "javascript": (79, 70, 59, 63),
    "json": (110, 92, 94, 94),
    "table": (57, 47, 48, 47),
    "log": (115, 76, 84, 84),
    "german": (43, 49, 47, 31),
    "french": (33, 37, 32, 28),
    "turkish": (53, 50, 44, 27),
    "indonesian": (55, 51, 41, 30),
    "russian": (32, 45, 36, 22),
    "greek": (89, 96, 78, 31),
    "chinese": (54, 34, 42, 29),
    "japanese": (54, 50, 49, 36),
    "korean": (68, 46, 35, 23),
    "arabic": (67, 65, 52, 23),
    "hindi": (93, 90, 85, 28),
    "thai": (88, 148, 75, 32),
    "amharic": (110, 106, 99, 75),
    "emoji": (184, 123, 144, 99),
    "symbols": (121, 109, 92, 94),
    "base64": (164, 134, 139, 133),
    "hexadecimal": (142, 90, 87, 88),
    "digits": (154, 59, 79, 79),
    "letters at random": (148, 142, 130, 126),
    "capitals at random": (163, 137, 136, 132),
    "one pair of letters": (120, 120, 120, 60),
    "capitals": (46, 37, 33, 33),
    "deep indentation": (97, 59, 85, 85),
    "blank lines": (160, 119, 80, 80),
    "only newlines": (81, 3, 3, 5),
    "tabs": (136, 91, 90, 90),
    "spaces and newlines": (105, 45, 30, 30),
    "dashes": (9, 3, 3, 2),
    "marks": (84, 72, 73, 73),
    "control characters": (106, 90, 75, 90),
}

# How many times as many tokens as the largest of these the estimate counts: room of a budget that is lost.
MOST = {
    "prose": 1.19,
    "technical prose": 1.23,
    "python": 1.39,
    "javascript": 1.82,
    "json": 1.57,
    "table": 1.39,
    "log": 1.14,
    "german": 2.29,
    "french": 1.84,
    "turkish": 1.82,
    "indonesian": 1.1,
    "russian": 2.2,
    "greek": 1.89,
    "chinese": 1.6,
    "japanese": 1.62,
    "korean": 1.2,
    "arabic": 2.26,
    "hindi": 2.56,
    "thai": 1.78,
    "amharic": 1.1,
    "emoji": 1.22,
    "symbols": 1.98,
    "base64": 1.35,
    "hexadecimal": 1.26,
    "digits": 1.09,
    "letters at random": 1.48,
    "capitals at random": 1.51,
    "one pair of letters": 1.05,
    "capitals": 1.2,
    "deep indentation": 1.21,
    "blank lines": 1.1,
    "only newlines": 1.04,
    "tabs": 1.09,
    "spaces and newlines": 1.01,
    "dashes": 3.56,
    "marks": 1.35,
    "control characters": 1.09,
}
