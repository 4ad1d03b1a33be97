"""German or English? Stop words and the evidence of letters and endings, without a model.

The product works in two languages (spec 00); anything else, and anything too short to tell, is `und`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from data.characters import fold, word_set

__all__ = ["STOP_WORDS", "STOP_WORDS_DE", "STOP_WORDS_EN", "detect_language"]

STOP_WORDS_DE: Final = word_set(
    """
    ab aber alle allem allen aller alles als also am an andere anderem anderen anderer anderes ans auch auf aus
    außer bei beide beiden beim bereits bin bis bist bitte da dabei dadurch dafür dagegen daher dahin damit
    danach daneben dann daran darauf daraus darf darin darüber darum darunter das dass davon davor dazu dein
    deine dem den denen denn dennoch der deren des dessen desto deshalb dich die dies diese dieselbe diesem
    diesen dieser dieses dir doch dort du durch dürfen eben ebenfalls ein eine einem einen einer eines einige
    einigen einiger einiges einmal entweder er es etwa etwas euch euer falls fast für gegen gehabt genau gewesen
    gibt ging habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer ihres im
    immer in indem ins irgend ist ja je jede jedem jeden jeder jedes jedoch jemand jene jenem jenen jener jenes
    jetzt kann kannst kein keine keinem keinen keiner können könnte könnten lassen lässt man manche manchem
    manchen mancher mehr mein meine meinem meinen meiner mich mir mit muss musste müssen nach nachdem neben nein
    nicht nichts nie noch nun nur ob obwohl oder ohne schon sehr sein seine seinem seinen seiner seit seitdem
    selbst sich sie sind so sobald sogar solche solchem solchen solcher soll sollen sollte sollten sondern sonst
    sowie sowohl trotz trotzdem über überhaupt um und uns unser unsere unserem unseren unter usw viel viele vom
    von vor wann war waren warum was wäre weder weg wegen weil weiter welche welchem welchen welcher welches
    wenn wer werde werden wessen wie wieder will wir wird wirst wo wobei wodurch wofür woher wohin womit worden
    worauf wurde wurden würde würden zu zum zur zwar zwischen bzw ggf evtl mal mittels etc
    """
)

STOP_WORDS_EN: Final = word_set(
    """
    a about above after again against all almost already also although always am among an and another any anyone
    anything are aren't around as at be became because been before being below between both but by can can't
    cannot could couldn't did didn't do does doesn't doing don't done down during each either else etc even ever
    every few for from further get gets getting got had hadn't has hasn't have haven't having he her here hers
    herself him himself his how however i if in instead into is isn't it its itself just may maybe me might more
    most much must my myself neither no nor not nothing now of off often on once one only onto or other others
    our ours out over own per please quite rather same she should shouldn't since so some someone something
    still such than that that's the their theirs them themselves then there therefore these they this those
    though through thus to too under until unless up upon us very via was wasn't we well were weren't what when
    where whether which while who whom whose why will with within without won't would wouldn't yet you your
    yours
    """
)

STOP_WORDS: Final = STOP_WORDS_DE | STOP_WORDS_EN
"""German and English stop words, folded."""

# Words of both lists, or common in the other language ("die", "war", "will"), are evidence for neither.
_AMBIGUOUS: Final = word_set(
    """
    am an also bin da den des die etc fast he her hin in ins man me most one per so us was war were will off no
    as dies ab art du i a
    """
)
# The desk's own words join the function words: labels are often too short to hold one.
_EVIDENCE_DE: Final = (STOP_WORDS_DE - STOP_WORDS_EN - _AMBIGUOUS) | word_set(
    """
    fehler fehlermeldung anmeldung anmelden benutzer nutzer drucker datei dateien ordner einrichten einrichtung
    zugriff verbindung kennwort passwort fehlgeschlagen starten startet neustart anleitung rechner stoerung
    laufwerk netzlaufwerk warteschlange zertifikat postfach netzwerk berechtigung aktualisierung aendern
    loeschen pruefen behebung ursache loesung geht haengt schlaegt fehl moeglich ungueltig abgelaufen verweigert
    gesperrt langsam beheben sichern wiederherstellen defekt bildschirm
    """
)
_EVIDENCE_EN: Final = (STOP_WORDS_EN - STOP_WORDS_DE - _AMBIGUOUS) | word_set(
    """
    error errors fails failed failure user users printer file files folder access denied password expired
    connection troubleshooting slow configure configuring restart unable missing invalid locked logon queue
    mailbox settings guide using requires required warning message issue fix restore delete remove change check
    cause solution
    """
)
_ENDINGS_DE: Final = re.compile(
    r"(?:ung|ungen|keit|heit|lich|liche|lichen|isch|ische|ieren|iert|schaft|gung|stellen|barkeit|lung|fehler|dienst)$"
)
_ENDINGS_EN: Final = re.compile(r"(?:tion|tions|ing|ness|able|ible|ity|ment|ments|ally|fully|ful|ously|ies|ished)$")
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_SAMPLE: Final = 6_000  # characters looked at: enough for any text, and it keeps 2 MB pages cheap
_ENDING_WEIGHT: Final = 0.5  # an ending is weaker evidence than a function word; borrowed words carry them too
_LETTER_WEIGHT: Final = 0.75  # a word with ä, ö, ü or ß


@lru_cache(maxsize=32_768)
def _sign(token: str) -> tuple[float, float]:
    """Return how much one word as written says for German and for English."""
    word = fold(token)
    letters = _LETTER_WEIGHT if any(letter in "äöüßÄÖÜ" for letter in token) else 0.0
    if word in _EVIDENCE_DE:
        return 1.0 + letters, 0.0
    if word in _EVIDENCE_EN:
        return letters, 1.0
    if len(word) > 5 and _ENDINGS_DE.search(word):
        return _ENDING_WEIGHT + letters, 0.0
    if len(word) > 5 and _ENDINGS_EN.search(word):
        return letters, _ENDING_WEIGHT
    return letters, 0.0


def detect_language(text: str) -> str:
    """Return `de`, `en`, or `und` where neither stands out (other languages, code, a bare product name).

    Long texts need the share of function words that German and English have (a fourth and more in prose, an
    eighth among many names; a kindred language such as Dutch stays below); short labels need one clear sign.
    """
    tokens = _WORD.findall(text[:_SAMPLE])
    if not tokens:
        return "und"
    signs = [_sign(token) for token in tokens]
    german = sum(sign[0] for sign in signs)
    english = sum(sign[1] for sign in signs)
    best, other = max(german, english), min(german, english)
    enough = best >= _ENDING_WEIGHT if len(tokens) < 12 else best >= 0.12 * len(tokens)
    if not enough or best < 1.1 * other or best == other:
        return "und"
    return "de" if german > english else "en"
