"""How much of what identifies people in free text is masked: by patterns, and by presidio beside them.

    python bench/free_text.py [--model MODEL] [--notes 1000]

Notes are made of sentences with passages by faker, each known with its kind; recall is the share of them that is gone.
MODEL is an installed model of spaCy's, or the folder of one, and needs presidio-analyzer: without it patterns stand
alone. Made notes are easier than people's own: what a mask misses there is more. Exit status 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import sys

import pyarrow as pa
from faker import Faker

from discreet.anonymize.masking import FreeText, load_presidio, recall
from goals import Goals, timed

SENTENCES = (
    "{name} came in on {date} and was seen by Dr. {surname}.",
    "Lives at {street}, {town}, and may be called on {phone}.",
    "Write to {email}, not to the insurance ({iban}).",
    "Works for {company}; logged in from {ip}.",
    "{name}'s daughter {first} called from {town}.",
    "Card {card} was charged twice, said {name}.",
    "Is {story}.",
)
STORIES = (
    "the only woman in the village fire brigade", "a judge who was in the news last spring", "mother of quadruplets",
    "the goalkeeper of the national team", "the widow of the last lighthouse keeper",
)  # fmt: skip
PLAIN = (
    "Three pills in the morning, none at night.",
    "No fever since yesterday; blood pressure is normal.",
    "Comes back in two weeks for the results.",
    "The pain is in the left knee and is worse on stairs.",
)


def notes(count: int) -> tuple[list[str], list[list[tuple[str, str]]]]:
    """Notes, and of each its identifying passages with their kinds."""
    made = Faker("en_US")
    made.seed_instance(27)
    kinds = {
        "name": made.name, "surname": made.last_name, "first": made.first_name, "street": made.street_address,
        "town": made.city, "phone": made.phone_number, "email": made.email, "iban": made.iban, "company": made.company,
        "ip": made.ipv4, "card": made.credit_card_number, "date": lambda: made.date("%d/%m/%Y"),
        "story": lambda: made.random_element(STORIES),
    }  # fmt: skip
    texts: list[str] = []
    marked: list[list[tuple[str, str]]] = []
    for _ in range(count):
        sentence = made.random_element(SENTENCES)
        passages = [(kind, make()) for kind, make in kinds.items() if f"{{{kind}}}" in sentence]
        texts.append(f"{made.random_element(PLAIN)} {sentence.format(**dict(passages))}")
        marked.append(passages)
    return texts, marked


def measured(goals: Goals, name: str, mask: FreeText, count: int) -> dict[str, float]:
    texts, marked = notes(count)
    kinds = list(dict.fromkeys(kind for each in marked for kind, _ in each))
    shares = {
        kind: recall(mask, texts, [[passage for own, passage in each if own == kind] for each in marked])
        for kind in kinds
    }
    for kind, share in shares.items():
        goals.line(f"{name}: recall of {kind}", f"{share:.1%}")
    everything, seconds = timed(lambda: recall(mask, texts, [[passage for _, passage in each] for each in marked]))
    goals.line(f"{name}: recall of all", f"{everything:.1%}")
    goals.line(f"{name}: CPU s for {count:,} notes", f"{seconds:.2f}")
    plain = mask.apply(pa.chunked_array([list(PLAIN)])).to_pylist()
    changed = sum(before != after for before, after in zip(PLAIN, plain, strict=True))
    goals.line(f"{name}: harmless sentences that it changes", f"{changed} of {len(PLAIN)}")
    return shares


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model")
    parser.add_argument("--notes", type=int, default=1000)
    options = parser.parse_args()
    goals = Goals()
    patterns = measured(goals, "patterns", FreeText(), options.notes)
    for kind in ("email", "phone", "date", "iban", "card", "ip"):
        goals.line(f"patterns: {kind}", f"{patterns[kind]:.1%}", ">= 99 %", patterns[kind] >= 0.99)
    if options.model:
        both = measured(goals, "with presidio", FreeText(analyzer=load_presidio(options.model)), options.notes)
        worse = [kind for kind, share in both.items() if share < patterns[kind]]
        goals.line("with presidio: kinds of which it masks less", ", ".join(worse) or "none", "none", not worse)
    print("\nWhat is missed stays readable. A story that only one person has is missed by both.")
    return goals.close()


if __name__ == "__main__":
    sys.exit(main())
