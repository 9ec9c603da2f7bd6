"""Analyzers of text, which find names and places where patterns do not: presidio's, or any other with its method."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from discreet.errors import MissingExtra, ParameterError

__all__ = ["Analyzer", "Recognized", "load_presidio"]


class Recognized(Protocol):
    """A passage of a text that may identify somebody: from `start` to before `end`, of what kind, and how sure."""

    @property
    def start(self) -> int:
        """The place of its first character, from 0."""
        ...

    @property
    def end(self) -> int:
        """The place after its last character."""
        ...

    @property
    def score(self) -> float:
        """From 0 to 1."""
        ...

    @property
    def entity_type(self) -> str:
        """Its kind, as ``PERSON``."""
        ...


class Analyzer(Protocol):
    """What `FreeText` asks for passages; `presidio_analyzer.AnalyzerEngine` is one."""

    def analyze(self, text: str, language: str, entities: list[str] | None = None) -> Sequence[Recognized]:
        """The passages of a text, of some kinds or of all."""
        ...


def load_presidio(model: str | Path, language: str = "en") -> Analyzer:
    """An analyzer by presidio with a model of spaCy. It misses names that the model does not know: measure its recall.

    Nothing is fetched. Mail addresses are left to `PATTERNS`, since presidio would ask the network for its list of
    domains.

    Parameters
    ----------
    model
        The name of a model that is installed, as ``"en_core_web_lg"``, or the folder of one.
    language
        The language of the texts.

    Raises
    ------
    MissingExtra
        Without presidio-analyzer.
    ParameterError
        For a model that is not installed or cannot be loaded.
    """
    try:
        import spacy.util  # pyright: ignore[reportMissingImports]
        from presidio_analyzer import AnalyzerEngine  # pyright: ignore[reportMissingImports]
        from presidio_analyzer.nlp_engine import NlpEngineProvider  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtra("Names in free text need presidio-analyzer: pip install 'discreet[text]'") from None
    name = os.fspath(model)
    if not (spacy.util.is_package(name) or Path(name).is_dir()):  # pyright: ignore[reportUnknownMemberType]
        raise ParameterError(
            f"the model {name} is not installed: python -m spacy download {name}, or name the folder of one"
        )
    models = [{"lang_code": language, "model_name": name}]
    try:
        nlp: Any = NlpEngineProvider(nlp_configuration={"nlp_engine_name": "spacy", "models": models}).create_engine()
        engine: Any = AnalyzerEngine(nlp_engine=nlp, supported_languages=[language])
    except (OSError, ValueError, KeyError) as error:
        raise ParameterError(f"the model {name} cannot be loaded for {language}: {error}") from None
    engine.registry.remove_recognizer("EmailRecognizer")
    return engine
