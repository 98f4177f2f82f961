"""What somebody wrote in a message, without what they answer to and what goes under every message of theirs.

A quote is in the message that it is from; repeated in ten answers it would be found ten times. One pass over the lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from outcrop.system.dataclass import dataclass
from outcrop.system.limits import timed

CUT: Final = "[…]"
"""Stands where a quote was, between two things that were written."""
MAX_ATTRIBUTION_LINES: Final = 4
MAX_SIGNATURE_LINES: Final = 25
"""After `-- `; more than that is a message whose author draws lines (not measured)."""
MAX_FOOTER_LINES: Final = 12
_MAX_LINE: Final = 1_000
"""Characters of a line that are looked at."""

_QUOTED: Final = re.compile(r"[ \t]{0,4}(?:>|[A-Z]{1,3}>)")
# English, German, French, Spanish, Italian, Portuguese, Dutch, Swedish/Danish/Norwegian, Finnish, Polish, Czech,
# Russian, Ukrainian, Turkish, Hungarian, Romanian, Japanese, Chinese, Korean.
_SAID: Final = re.compile(
    r"\b(?:wrote|writes|said|schrieb|schreibt|a écrit|écrivait|escribi[oó]|ha scritto|scrisse|scriveva|escreveu|"
    r"schreef|heeft geschreven|skrev|kirjoitti|napisał(?:\(a\)|a)?|pisze|napsal(?:\(a\)|a)?|"
    r"написал(?:\(а\)|а)?|пишет|написав(?:\(ла\))?|пише|yazdı|yazmış|írta|a scris)\b|"
    r"のメッセージ|さんは書きました|写道|寫道|님이 작성|님이 씀",
    re.IGNORECASE,
)
_WHEN: Final = re.compile(r"\d{1,2}[:.]\d{2}|\b(?:19|20)\d\d\b")
_ADDRESS: Final = re.compile(r"<[^<>\s]{3,200}>|\S{1,100}@\S{3,100}|\S{1,100} at \S{1,100}")
_ENDS: Final = (":", "：", ">", "wrote", "schrieb", "pisze", "님이 작성")
_SEPARATOR: Final = re.compile(
    r"[ \t]*(?:[-_*]{3,}[ \t]*(?:Original Message|Original Appointment|Reply Message|Ursprüngliche Nachricht|"
    r"Originalnachricht|Message d['’]origine|Message original|Mensaje original|Messaggio originale|Mensagem original|"
    r"Oorspronkelijk bericht|Ursprungligt meddelande|Oprindelig meddelelse|Opprinnelig melding|Alkuperäinen viesti|"
    r"Wiadomość oryginalna|Oryginalna wiadomość|Původní zpráva|Исходное сообщение|Пересылаемое сообщение|"
    r"Özgün İleti|Eredeti üzenet|元のメッセージ|原始邮件|邮件原件|원본 메시지)[ \t]*[-_*]{0,})[ \t]*$",
    re.IGNORECASE,
)
_RULE: Final = re.compile(r"[ \t]*(?:_{10,}|-{10,}|={10,})[ \t]*$")
_FROM: Final = re.compile(
    r"[ \t]*\*?(?:From|Von|De|Da|Van|Från|Fra|Lähettäjä|Od|От|Від|Kimden|Feladó|差出人|发件人|寄件者|보낸 사람)"
    r"[ \t]*[:：]\*?[ \t]*\S"
)
_LABEL: Final = re.compile(
    r"[ \t]*\*?(?:Sent|Date|To|Cc|Bcc|Subject|Importance|Reply-To|Gesendet|Datum|An|Betreff|Kopie|"
    r"Envoyé|À|A|Objet|"
    r"Enviado(?: el)?|Fecha|Para|CC|Asunto|Inviato|Data|Oggetto|Enviada(?: em)?|Assunto|Verzonden|Aan|"
    r"Onderwerp|Skickat|Till|Ämne|"
    r"Sendt|Til|Emne|Lähetetty|Vastaanottaja|Aihe|Wysłano|Do|Temat|Odesláno|Komu|Předmět|Отправлено|Кому|Тема|"
    r"Gönderildi|Kime|Konu|Elküldve|Címzett|Tárgy|送信日時|宛先|件名|发送时间|收件人|主题|보낸 날짜|받는 사람|제목)"
    r"[ \t]*[:：]"
)
_FORWARD: Final = re.compile(
    r"[ \t]*(?:-{3,}[ \t]*(?:Forwarded message|Weitergeleitete Nachricht|Message transféré|Mensaje reenviado|"
    r"Messaggio inoltrato|Mensagem encaminhada|Doorgestuurd bericht|转发的邮件)|Begin forwarded message:|"
    r"Anfang der weitergeleiteten Nachricht|Début du message réexpédié)",
    re.IGNORECASE,
)
_FORWARDED_SUBJECT: Final = re.compile(r"\s*(?:fwd?|wg|tr|rv|enc|doorst|i|vb)\s*:", re.IGNORECASE)
_SIGNATURE: Final = re.compile(r"--[ \t\xa0]?$")
_FOOTER: Final = re.compile(r"[_=*-]{20,}$")
_FOOTER_SAYS: Final = re.compile(
    r"mailing list|unsubscribe|listinfo|https?://\S*list|\S@\S*lists?\.", re.IGNORECASE
)
_DEVICE: Final = re.compile(
    r"(?:Sent from (?:my|Mail for|Outlook|Yahoo)|Get Outlook for|(?:Von|Gesendet von) meinem |Envoyé de mon |"
    r"Enviado desde mi |Inviato da |Enviado do meu |Verstuurd vanaf mijn |Skickat från min |"
    r"Lähetetty |Wysłane z |Отправлено с )",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Written:
    """What somebody wrote, and how they sign."""

    text: str
    signature: str = ""


def cut_quotes(text: str, subject: str = "") -> Written:
    """A message's own words. What is forwarded stays: it is what the message is for. A message that says nothing by
    itself is left as it is."""
    lines = text.split("\n")
    forwards = bool(_FORWARDED_SUBJECT.match(subject))
    kept = _drop_quoted(lines[: _end_of_own(lines, forwards)])
    kept, signature = _cut_signature(kept)
    own = "\n".join(kept).strip()
    return Written(own, signature) if any(map(str.isalnum, own)) else Written(text.strip(), "")


def _end_of_own(lines: Sequence[str], forwards: bool) -> int:
    """Where an answer ends that has the message it answers under it, as Outlook and Gmail's HTML write it."""
    if forwards:
        return len(lines)
    for number, line in enumerate(timed(lines)):
        short = line[:_MAX_LINE]
        if _FORWARD.match(short):
            return len(lines)
        if _SEPARATOR.match(short):
            return number
        if _FROM.match(short) and _is_header_block(lines, number):
            before = number - 1
            while before >= 0 and not lines[before].strip():
                before -= 1
            return before if before >= 0 and _RULE.match(lines[before][:_MAX_LINE]) else number
        if _is_attribution(short, strictly=True) and not _leads_to_quote(lines, number + 1):
            return number
    return len(lines)


def _is_header_block(lines: Sequence[str], number: int) -> bool:
    """Whether two of the next lines have labels as well: the header of the message below."""
    following = [line for line in lines[number + 1 : number + 7] if line.strip()][:4]
    return sum(bool(_LABEL.match(line[:_MAX_LINE])) for line in following) >= 2


def _is_attribution(line: str, *, strictly: bool = False) -> bool:
    """Whether a line says whose words follow. Strictly: by its verb and a time, and not as part of a sentence."""
    line = line.strip()
    if not line.endswith(_ENDS) or len(line) > 400:
        return False
    says, when = _SAID.search(line) is not None, _WHEN.search(line) is not None
    if strictly:
        return (
            says and when and line.endswith((":", "：")) and (_ADDRESS.search(line) is not None or "," in line)
        )
    return says or (when and _ADDRESS.search(line) is not None)


def _leads_to_quote(lines: Sequence[str], number: int) -> bool:
    return any(_QUOTED.match(line) for line in lines[number : number + 2])


def _drop_quoted(lines: Sequence[str]) -> list[str]:
    """Lines without quoted ones and the attributions above them."""
    kept: list[str] = []
    in_quote = False
    for line in timed(lines):
        if _QUOTED.match(line) and not line.startswith(">From "):
            if not in_quote:
                _drop_attribution(kept)
                if any(each.strip() for each in kept):
                    kept.append(CUT)
            in_quote = True
            continue
        if in_quote and not line.strip():
            continue  # between the paragraphs of a quote, or before what is said to it
        kept.append(line.removeprefix(">") if line.startswith(">From ") else line)
        in_quote = False
    while kept and kept[-1] in ("", CUT):
        kept.pop()
    return kept


def _drop_attribution(kept: list[str]) -> None:
    """Remove the lines at the end that say whose words follow."""
    end = len(kept)
    while end and not kept[end - 1].strip():
        end -= 1
    if len(kept) - end > 1:
        return
    for first in range(end - 1, max(end - 1 - MAX_ATTRIBUTION_LINES, -1), -1):
        if not kept[first].strip() or kept[first] == CUT:
            return
        if _is_attribution(" ".join(line[:_MAX_LINE] for line in kept[first:end])):
            opens = first
            while opens and end - opens < MAX_ATTRIBUTION_LINES and _opens_attribution(kept[opens - 1]):
                opens -= 1
            del kept[opens:]
            return


_OPENS: Final = re.compile(
    r"[ \t]*(?:On|Am|Le|El|Il|Em|Op|Den|Dne|W dniu|Dnia|Pe|Ma|Ti|Ke|To)\b.*\d", re.IGNORECASE
)


def _opens_attribution(line: str) -> bool:
    """Whether an attribution that was broken over lines may begin here: `On Fri, 3 May 2024 at 14:12`."""
    return _OPENS.match(line[:_MAX_LINE]) is not None


def _cut_signature(lines: list[str]) -> tuple[list[str], str]:
    """Lines without a list's footer and a signature, and the signature."""
    lines = _cut_footer(lines)
    signature: list[str] = []
    for number in range(len(lines) - 1, max(len(lines) - 2 - MAX_SIGNATURE_LINES, -1), -1):
        if _SIGNATURE.match(lines[number]):
            signature = lines[number + 1 :]
            lines = lines[:number]
            break
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    if end and _DEVICE.match(lines[end - 1].strip()):
        lines = lines[: end - 1]
    return lines, "\n".join(line.rstrip() for line in signature).strip()[:1000]


def _cut_footer(lines: list[str]) -> list[str]:
    """What a mailing list puts under each message."""
    for number in range(len(lines) - 1, max(len(lines) - 2 - MAX_FOOTER_LINES, -1), -1):
        if _FOOTER.match(lines[number].strip()):
            says = "\n".join(line[:_MAX_LINE] for line in lines[number + 1 :])
            return lines[:number] if _FOOTER_SAYS.search(says) else lines
    return lines
