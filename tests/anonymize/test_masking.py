"""Masks by published vectors and by what they promise."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from discreet.anonymize import taxonomy
from discreet.anonymize.masking import (
    Encrypt,
    EncryptFormat,
    Fake,
    FreeText,
    Generalize,
    Pseudonym,
    Round,
    Shuffle,
    Suppress,
    Truncate,
    load_presidio,
    mask_table,
    recall,
)
from discreet.errors import MissingExtra, ParameterError

KEY = bytes(range(32))


def column(*values: Any) -> pa.ChunkedArray:
    return pa.chunked_array([list(values)])


def test_pseudonyms_are_the_same_across_files_with_one_key() -> None:
    first, second = column("Ada", "Bob", None), column("Bob", "Eve", "Ada")
    ours = Pseudonym(KEY, "study").apply(first).to_pylist()
    theirs = Pseudonym(KEY, "study").apply(second).to_pylist()
    assert (ours[0], ours[1], ours[2]) == (theirs[2], theirs[0], None)
    assert len({*ours[:2], theirs[1]}) == 3


def test_pseudonyms_are_not_guessed_from_a_dictionary_without_the_key() -> None:
    names = [f"name {i}" for i in range(2000)]
    published = set(Pseudonym(KEY).apply(column(*names)).to_pylist())
    for other in (Pseudonym(bytes(32)), Pseudonym(KEY, "another study")):
        assert not published & set(other.apply(column(*names)).to_pylist())
    assert set(Pseudonym(KEY).apply(column(*names)).to_pylist()) == published


def test_aes_siv_passes_the_vector_of_rfc_5297() -> None:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    key = bytes.fromhex("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    head = bytes.fromhex("101112131415161718191a1b1c1d1e1f2021222324252627")
    plain = bytes.fromhex("112233445566778899aabbccddee")
    expected = "85632d07c6e8f37f950acd320a2ecc9340c02b9690c4dc04daef7f6afe5c"
    assert AESSIV(key).encrypt(plain, [head]).hex() == expected


def test_encryption_is_undone_by_the_key_alone() -> None:
    hidden = Encrypt(KEY, "study").apply(column("Ada", "", None, "Ada"))
    assert hidden[0] == hidden[3] != hidden[1]
    assert Encrypt(KEY, "study").decrypt(hidden).to_pylist() == ["Ada", "", None, "Ada"]
    for other in (Encrypt(bytes(32), "study"), Encrypt(KEY, "other")):
        with pytest.raises(ParameterError, match="not encrypted with this key"):
            other.decrypt(hidden)
    with pytest.raises(ParameterError):
        Encrypt(KEY).decrypt(pa.array(["not encrypted"]))


DIGITS, LETTERS = "0123456789", "0123456789abcdefghijklmnopqrstuvwxyz"
KEYS = (
    "2B7E151628AED2A6ABF7158809CF4F3C",
    "2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F",
    "2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A94",
)
TWEAK, LONG_TWEAK = "39383736353433323130", "3737373770717273373737"


@pytest.mark.parametrize(
    ("key", "alphabet", "tweak", "plain", "hidden"),
    [
        (KEYS[0], DIGITS, "", "0123456789", "2433477484"),
        (KEYS[0], DIGITS, TWEAK, "0123456789", "6124200773"),
        (KEYS[0], LETTERS, LONG_TWEAK, "0123456789abcdefghi", "a9tv40mll9kdu509eum"),
        (KEYS[1], DIGITS, "", "0123456789", "2830668132"),
        (KEYS[1], DIGITS, TWEAK, "0123456789", "2496655549"),
        (KEYS[1], LETTERS, LONG_TWEAK, "0123456789abcdefghi", "xbj3kv35jrawxv32ysr"),
        (KEYS[2], DIGITS, "", "0123456789", "6657667009"),
        (KEYS[2], DIGITS, TWEAK, "0123456789", "1001623463"),
        (KEYS[2], LETTERS, LONG_TWEAK, "0123456789abcdefghi", "xs8a0azh2avyalyzuwd"),
    ],
)
def test_ff1_passes_nist_s_nine_samples(key: str, alphabet: str, tweak: str, plain: str, hidden: str) -> None:
    mask = EncryptFormat(bytes.fromhex(key), alphabet, bytes.fromhex(tweak))
    assert mask.apply(column(plain, None)).to_pylist() == [hidden, None]
    assert mask.decrypt(pa.array([hidden])).to_pylist() == [plain]


def test_small_domains_and_strange_characters_are_refused() -> None:
    mask = EncryptFormat(KEY)
    with pytest.raises(ParameterError, match="fewer than 1,000,000"):
        mask.apply(column("12345"))
    with pytest.raises(ParameterError, match="not in the alphabet"):
        mask.apply(column("12345678a"))


def test_a_shuffle_changes_no_marginal() -> None:
    values = list(range(1000)) + [None] * 10
    shuffled = Shuffle().apply(column(*values)).to_pylist()
    assert sorted(map(str, shuffled)) == sorted(map(str, values))
    assert shuffled != values


def test_every_order_of_a_shuffle_is_as_likely() -> None:
    counts = np.zeros(6)
    orders = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    for _ in range(1200):
        counts[orders.index(tuple(Shuffle().apply(column(0, 1, 2)).to_pylist()))] += 1
    # Six shares of 1,200 within 6.5 standard deviations of 200: false alarms below 1e-9.
    assert np.abs(counts - 200).max() < 6.5 * (1200 / 6 * 5 / 6) ** 0.5


def test_coarser_values() -> None:
    assert Round(10).apply(column(14, 15, 25, None)).to_pylist() == [10, 20, 20, None]
    assert Round(0.5).apply(column(1.2, 1.3)).to_pylist() == [1.0, 1.5]
    assert Truncate(2).apply(column("02138", None)).to_pylist() == ["02", None]
    assert Suppress().apply(column("a", None)).to_pylist() == ["*", "*"]
    tree = taxonomy("town", [["Delft", "NL", "*"], ["Ghent", "BE", "*"]])
    assert Generalize(tree, 1).apply(column("Ghent", "Delft")).to_pylist() == ["BE", "NL"]
    with pytest.raises(ParameterError, match="has no value 'Bonn'"):
        Generalize(tree, 1).apply(column("Bonn"))


def test_fakes_are_the_same_for_the_same_name_and_key() -> None:
    names = [f"name {i}" for i in range(50)]
    one = Fake(KEY).apply(column(*names, None)).to_pylist()
    assert one == Fake(KEY).apply(column(*names, None)).to_pylist()
    assert one[:50] != Fake(bytes(32)).apply(column(*names)).to_pylist()
    assert one[50] is None
    assert len(set(one)) > 40
    with pytest.raises(ParameterError, match="faker has no"):
        Fake(KEY, "nothing_such").apply(column("a"))


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("mail a.b+c@x.example.org.", "mail [EMAIL]."),
        ("call +31 (0)20 555-0123 now", "call [PHONE] now"),
        ("001-555-123-4567x890 or (212)555-0123 ext. 7.", "[PHONE] or [PHONE]."),
        ("born 1945-07-31 in 02138", "born [DATE] in 02138"),
        ("see https://example.org/a?b=1 or 10.0.0.1", "see [URL] or [IP]"),
        ("card 4111 1111 1111 1111, SSN 078-05-1120", "card [CARD], SSN [SSN]"),
        ("DE89 3704 0044 0532 0130 00", "[IBAN]"),
        ("three pills in room 12", "three pills in room 12"),
    ],
)
def test_patterns_in_free_text(text: str, masked: str) -> None:
    assert FreeText().apply(column(text)).to_pylist() == [masked]


def test_long_texts_are_masked_in_linear_time() -> None:
    for text in ("1" * 40_000, "a@" * 20_000, "1-" * 20_000, "A1 " * 13_000):
        FreeText().apply(column(text))


@dataclass(frozen=True)
class Passage:
    start: int
    end: int
    score: float
    entity_type: str


class Gazetteer:
    """An analyzer as presidio's is called, which knows some names."""

    def __init__(self, **names: float) -> None:
        self.names = names

    def analyze(self, text: str, language: str, entities: list[str] | None = None) -> list[Passage]:
        if language != "en":
            raise ValueError("No matching recognizers were found to serve the request.")
        assert entities is None
        return [
            Passage(each.start(), each.end(), score, "PERSON")
            for name, score in self.names.items()
            for each in re.finditer(name, text)
        ]


def test_what_an_analyzer_finds_is_masked_beside_patterns() -> None:
    mask = FreeText(analyzer=Gazetteer(Ada=0.9, Bob=0.2))
    texts = column("Ada called 555-0123-456, Bob and Ada did not", "Ada.L@example.org", None, "")
    assert mask.apply(texts).to_pylist() == ["[PERSON] called [PHONE], Bob and [PERSON] did not", "[EMAIL]", None, ""]
    assert replace(mask, least_score=0.1).apply(column("Bob")).to_pylist() == ["[PERSON]"]
    assert recall(mask, ["Ada, 555-0123-456"], [["Ada", "555-0123-456"]]) == 1
    with pytest.raises(ParameterError, match=r"column note .* the language 'nl'"):
        mask_table(pa.table({"note": ["Ada"]}), {"note": FreeText(analyzer=Gazetteer(), language="nl")})


def test_passages_that_overlap_are_masked_whole() -> None:
    mask = FreeText({"NUMBER": r"\d+", "WORD": "x+"}, Gazetteer(a1=1, aa1=1))
    assert mask.apply(column("aa12 xx", "1xx2")).to_pylist() == ["[PERSON] [WORD]", "[NUMBER][WORD][NUMBER]"]


@pytest.mark.parametrize("passage", [Passage(0, 4, 1, "A"), Passage(-1, 2, 1, "A"), Passage(2, 2, 1, "A")])
def test_an_analyzer_that_names_no_passage_is_refused(passage: Passage) -> None:
    class Wrong:
        def analyze(self, text: str, language: str, entities: list[str] | None = None) -> list[Passage]:
            return [passage]

    with pytest.raises(ParameterError, match="not in its text"):
        FreeText(analyzer=Wrong()).apply(column("abc"))


def test_without_presidio_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "presidio_analyzer", None)
    with pytest.raises(MissingExtra, match=r"discreet\[text\]"):
        load_presidio("en_core_web_lg")


def test_presidio_is_given_a_model_that_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the names that are called of presidio and spaCy; `tests/docs/test_extras.py` calls them themselves."""
    removed: list[str] = []

    class Provider:
        def __init__(self, nlp_configuration: dict[str, Any]) -> None:
            (self.model,) = nlp_configuration["models"]

        def create_engine(self) -> dict[str, str]:
            if self.model["lang_code"] == "xx":
                raise OSError("[E053] no config.cfg")
            return self.model

    def engine(nlp_engine: dict[str, str], supported_languages: list[str]) -> SimpleNamespace:
        assert nlp_engine == {"lang_code": "nl", "model_name": str(tmp_path)} and supported_languages == ["nl"]
        return SimpleNamespace(registry=SimpleNamespace(remove_recognizer=removed.append))

    modules = {
        "spacy": {},
        "spacy.util": {"is_package": lambda name: False},
        "presidio_analyzer": {"AnalyzerEngine": engine},
        "presidio_analyzer.nlp_engine": {"NlpEngineProvider": Provider},
    }
    for name, members in modules.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    sys.modules["spacy"].util = sys.modules["spacy.util"]  # type: ignore[attr-defined]
    load_presidio(tmp_path, "nl")
    assert removed == ["EmailRecognizer"]
    with pytest.raises(ParameterError, match="is not installed: python -m spacy download nl_core_news_sm"):
        load_presidio("nl_core_news_sm", "nl")
    with pytest.raises(ParameterError, match=r"cannot be loaded for xx: \[E053\]"):
        load_presidio(tmp_path, "xx")


def test_recall_is_measured_on_marked_texts() -> None:
    assert recall(FreeText(), ["Ada, 555-0123-456"], [["Ada", "555-0123-456"]]) == 0.5
    half = FreeText({"FIRST": "Ada"})
    assert recall(half, ["Ada Lovelace", "Ada", "Bo, 7"], [["Ada Lovelace"], ["Ada"], ["Bo"]]) == 1 / 3
    with pytest.raises(ParameterError):
        recall(FreeText(), ["nothing"], [[]])


def test_columns_that_are_not_named_are_left_out() -> None:
    frame = pd.DataFrame({"name": ["A"], "zip": ["02138"], "note": ["x"]})
    masked = mask_table(frame, {"zip": Truncate(3), "note": None})
    assert isinstance(masked, pd.DataFrame)
    assert masked.to_dict("list") == {"zip": ["021"], "note": ["x"]}


@pytest.mark.parametrize(
    "call",
    [
        lambda: mask_table(pa.table({"a": [1]}), {"b": None}),
        lambda: mask_table(pa.table({"a": ["x"]}), {"a": Round(10)}),
        lambda: Pseudonym(b"short"),
        lambda: Pseudonym("a text that is long enough"),  # pyright: ignore[reportArgumentType]
        lambda: Pseudonym(KEY, length=3),
        lambda: Encrypt(b"x" * 31),
        lambda: EncryptFormat(b"x" * 31),
        lambda: EncryptFormat(KEY, "0"),
        lambda: EncryptFormat(KEY, "00"),
        lambda: Truncate(-1),
        lambda: Round(0),
        lambda: FreeText({"X": "("}),
        lambda: FreeText(least_score=35),
    ],
)
def test_masks_that_are_none_are_refused(call: Any) -> None:
    with pytest.raises(ParameterError):
        call()


def test_a_mask_shows_no_key() -> None:
    for mask in (Pseudonym(KEY), Fake(KEY), Encrypt(KEY), EncryptFormat(KEY)):
        assert "\\x01" not in repr(mask)
