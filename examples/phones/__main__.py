"""A million simulated phones report an emoji and a word to collectors over HTTP, and what the reports say is told.

    python examples/phones [--phones 1000000] [--keep DIR] [--words prefix_extending] [--senders 2]

Each phone reports, once, the emoji that its person likes best, of a public list of 374 (Hadamard response, ε = 2), and
a word that its person types, of no list at all (prefix extending, ε = 4, or another protocol by --words). Everything
runs as in the wild, though on this machine alone: `discreet collect scheme` writes two documents, a `discreet collect
serve` of each takes reports in, phones perturb before they send, and `discreet collect estimate --plot` tells and
draws. One phone in a hundred, a thousand at most, posts a batch of its own; the rest report through gateways of ten
thousand phones. One batch in ten is sent twice, as if its answer had been lost. The truth is known because nobody here
is real.

It needs `pip install "discreet[plots]"`. --keep keeps the documents, stores, plots and figures.json in a new directory.
"""

from __future__ import annotations

import argparse
import json
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager, nullcontext
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from collector import Collector, collect
from discreet import local
from people import EMOJI, WORDS, shares
from phone import Batch, Sent, ready, report
from tell import tell

LEVEL = 0.99
ALONE, GATEWAY = 1000, 10_000
NAMES = {"emoji": EMOJI, "words": WORDS}
PROTOCOLS = ("prefix_extending", "tree_hist", "sequence_fragment_puzzle")


def main() -> None:
    """Read the options; collect, tell."""
    options = argparse.ArgumentParser(prog="phones", description=(__doc__ or "").splitlines()[0])
    options.add_argument("--phones", type=int, default=1_000_000)
    options.add_argument("--keep", type=Path, metavar="DIR", help="a new directory for documents, stores and plots")
    options.add_argument("--words", default=PROTOCOLS[0], choices=PROTOCOLS, help="the protocol for words")
    options.add_argument("--senders", type=int, default=2, help="how many processes play phones")
    given = options.parse_args()
    if given.phones < 1 or given.senders < 1:
        options.error("--phones and --senders must be 1 or more")
    if given.keep is not None and given.keep.exists():
        options.error(f"{given.keep} is there already; name a new directory for --keep")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # it ends collectors and phones as Ctrl-C does
    try:
        told(given.keep, given.phones, given.words, given.senders)
    except KeyboardInterrupt:
        raise SystemExit(128 + signal.SIGINT) from None


def told(keep: Path | None, phones: int, protocol: str, senders: int) -> None:
    """Collect and tell, in a new directory, which is left there if it has a name."""
    place = tempfile.TemporaryDirectory(prefix="phones-") if keep is None else nullcontext(keep)
    with place as home:
        Path(home).mkdir(parents=True, exist_ok=True)
        figures = collected(Path(home), phones, protocol, senders)
        Path(home, "figures.json").write_text(json.dumps(figures, ensure_ascii=False, indent=1), encoding="utf-8")
    tell(figures)
    if keep is not None:
        print(f"Documents, stores, plots and figures.json are in {keep}.")


def collected(home: Path, phones: int, protocol: str, senders: int) -> dict[str, Any]:
    """Everything from documents to estimates, and what it took."""
    (home / "emoji.txt").write_text("\n".join(EMOJI), encoding="utf-8")
    settings = {
        "emoji": ["hadamard_response", "--domain", str(home / "emoji.txt"), "--epsilon", "2"],
        "words": [protocol, "--epsilon", "4", "--set", "length=10", "--set", "alphabet=abcdefghijklmnopqrstuvwxyz"],
    }
    schemes = {}
    for question, words in settings.items():
        document, _ = collect("scheme", *words)
        (home / f"{question}.json").write_text(document, encoding="utf-8")
        schemes[question] = local.from_json(document)
    with ExitStack() as running:
        collectors = {
            question: running.enter_context(Collector(home / f"{question}.json", home / f"{question}.store"))
            for question in settings
        }
        began = time.perf_counter()
        sent = everything_sent(home, phones, senders, {name: each.address for name, each in collectors.items()})
        spent = time.perf_counter() - began
    once, year = (
        sum(each.lifetime_loss(reports=days, values=1).epsilon() for each in schemes.values()) for days in (1, 365)
    )
    figures: dict[str, Any] = {"phones": phones, "protocol": protocol, "seconds": spent, "once": once, "year": year}
    for question, scheme in schemes.items():
        figures[question] = {
            "epsilon": scheme.loss.epsilon(),
            "truth": dict(zip(NAMES[question], shares(NAMES[question], phones).tolist(), strict=True)),
            **estimated(home, question),
            **cost([each for each in sent if each.question == question]),
            "collecting": collectors[question].cpu,
        }
    return figures


def everything_sent(home: Path, phones: int, senders: int, addresses: dict[str, str]) -> list[Sent]:
    """All batches, in processes that play phones; when it returns, each was acknowledged."""
    alone = min(ALONE, phones // 100)
    starts = [*range(alone), *range(alone, phones, GATEWAY)]
    batches = [
        Batch(question, start, 1 if start < alone else min(GATEWAY, phones - start), twice=place % 10 == 9)
        for place, start in enumerate(starts)
        for question in addresses
    ]
    fresh = get_context("spawn")
    with ProcessPoolExecutor(senders, fresh, initializer=ready, initargs=(str(home), phones, addresses)) as pool:
        waiting = [pool.submit(report, each) for each in batches]
        try:
            with progress(len(batches)) as advance:
                return [advance(each.result()) for each in as_completed(waiting)]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def estimated(home: Path, question: str) -> dict[str, Any]:
    """What `discreet collect estimate` says and draws."""
    began = time.perf_counter()
    said, cpu = collect(
        "estimate", "--store", str(home / f"{question}.store"), "--level", str(LEVEL), "--json",
        "--plot", str(home / f"{question}.svg"),
    )  # fmt: skip
    found = json.loads(said)
    kept = {name: found[name] for name in ("reports", "rejected", "level", "estimates")}
    return {**kept, "estimating": cpu, "waiting": time.perf_counter() - began}


def cost(sent: list[Sent]) -> dict[str, Any]:
    """What the batches of one question took: bytes, and CPU seconds of phones and gateways."""
    return {
        "width": sent[0].width,
        "batches": len(sent),
        "repeats": sum(each.repeats for each in sent),
        "posted": sum(each.posted for each in sent),
        "encoding": sum(each.encoding for each in sent),
        "sending": sum(each.sending for each in sent),
    }


@contextmanager
def progress(total: int) -> Iterator[Callable[[Sent], Sent]]:
    """A bar on stderr, where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    shown = TextColumn("{task.completed:,.0f} of {task.total:,.0f} batches are on disk")
    columns = (BarColumn(), shown, TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=total)

        def advance(done: Sent) -> Sent:
            bar.advance(task)
            return done

        yield advance


if __name__ == "__main__":
    main()
