"""Marginals by residuals: planned errors beside the least there are, published tables beside the counts, and a peer.

    python bench/marginal_tables.py --adult FOLDER [--jobs optimum publish wide peer] [--runs 20] [--install-peers]

FOLDER holds Adult as bench/synth.py takes it; its columns are in the same public cells, without education-num.

optimum: all marginals of up to three columns, planned; beside the bound of singular values (Li and Miklau 2013): of the
dense workload for four columns, in closed form for fourteen. Also beside noise on each marginal alone, in equal shares.
publish: these marginals of fourteen columns, measured and read; errors over all cells beside the planned ones, and how
often intervals at 95 % hold the counts; values of each tenth table. wide: 100 columns of ten values, planned.

peer: fixed tables of `opendp[mbi]` over five columns, all marginals of three: the same marginals, cells and ρ. Its
estimate is of one joint distribution, never negative, to be read beside our values; its own noisy marginals, which are
unbiased, beside our unbiased numbers. It is in bench/.venvs/synth, which --install-peers makes.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads that wait for one another are CPU time too

import numpy as np

import discreet as dp
from discreet import census
from discreet.policy import load_policy
from peering import HERE, asked, install, python_of
from synth import SCORED, adult, policy_of

RHO = "1"
FOUR = ["relationship", "race", "sex", "marital-status"]
FIVE = [*FOUR, "income"]
WIDE = 100
TENTH = 10


def policy(folder: Path) -> dict[str, Any]:
    return {**policy_of(adult(folder)), "budget": {"rho": 10_000}}


def planned(folder: Path, columns: list[str], ways: int, minimize: str = "sum") -> Any:
    question = census.PublishMarginals("adult", dp.rho(RHO), ways, columns, minimize=minimize)
    return census.plan_marginals_question(question, load_policy(policy(folder)))


def dense_bound(sizes: tuple[int, ...], marginals: list[tuple[int, ...]]) -> float:
    """Of the sum of variances of all cells at ρ: from the eigenvalues of the dense workload."""
    gram = np.zeros((math.prod(sizes),) * 2)
    for marginal in marginals:
        matrix = np.ones((1, 1))
        for place, size in enumerate(sizes):
            matrix = np.kron(matrix, np.eye(size) if place in marginal else np.ones((1, size)))
        gram += matrix.T @ matrix
    roots = np.sqrt(np.maximum(np.linalg.eigvalsh(gram), 0))
    return float(roots[roots > 1e-6].sum()) ** 2 / math.prod(sizes) / (2 * float(RHO))


def closed_bound(sizes: tuple[int, ...], marginals: list[tuple[int, ...]]) -> float:
    """The same, from the closed form of the eigenvalues."""
    parts = {part for each in marginals for k in range(len(each) + 1) for part in itertools.combinations(each, k)}
    cells = {each: math.prod(sizes[i] for i in each) for each in marginals}
    sets = [(set(each), each) for each in marginals]
    roots = [
        math.prod(sizes[i] - 1 for i in part)
        * math.sqrt(math.fsum(1 / cells[each] for inside, each in sets if inside.issuperset(part)))
        for part in parts
    ]
    return math.fsum(roots) ** 2 / (2 * float(RHO))


def optimum(options: argparse.Namespace) -> None:
    print("all marginals of up to 3 columns, rho 1: root mean square error of a cell")
    for columns, bound in ((FOUR, dense_bound), (SCORED, closed_bound)):
        before = time.process_time()
        plan = planned(options.adult, columns, 3)
        seconds = time.process_time() - before
        lattice = plan.measurements.wanted.lattice
        cells = sum(lattice.cells(each) for each in lattice.marginals)
        least = bound(lattice.sizes, list(lattice.marginals))
        alone = len(lattice.marginals) / (2 * float(RHO))
        print(
            f"  {len(columns):3} columns, {len(lattice.marginals):4} marginals, {cells:9,} cells: "
            f"{math.sqrt(plan.objective / cells):8.4f}; over the least {plan.objective / least - 1:+.1e}; "
            f"each marginal alone {math.sqrt(alone):.4f} ({math.sqrt(alone * cells / plan.objective):.3f}x); "
            f"{seconds:.2f} CPU s"
        )  # fmt: skip
    plan = planned(options.adult, SCORED, 3, "largest")
    print(
        f"  largest variance of a cell, 14 columns: {plan.objective:.4f}, "
        f"over its bound {plan.objective / plan.least - 1:+.1e}"
    )


def publish(options: argparse.Namespace) -> None:
    data, _ = adult(options.adult)
    with dp.connect({"adult": data}, policy(options.adult)) as session:
        before = time.process_time()
        tables = census.marginals(session, "adult", dp.rho(RHO), ways=3, columns=SCORED)
        taken = time.process_time() - before
    size = len(tables.to_bytes())
    squares, planned_squares, fitted_squares, some_squares, inside, cells = 0.0, 0.0, 0.0, 0.0, 0, 0
    with dp.connect({"adult": data}, {**policy(options.adult), "budget": {"rho": 10**13}}) as session:
        exact = census.marginals(session, "adult", dp.rho(10**12), ways=3, columns=SCORED)
    before = time.process_time()
    read = list(tables.tables(fit=False))
    reading = time.process_time() - before
    before = time.process_time()
    fitted = {names: tables.table(*names)["value"].to_numpy() for names in tables.marginals[::TENTH]}
    fitting = time.process_time() - before
    fitted_cells = sum(map(len, fitted.values()))
    for names, table in read:
        truth = np.rint(exact.table(*names, fit=False)["unbiased"].to_numpy())
        unbiased, error = table["unbiased"].to_numpy(), table["standard_error"].to_numpy()
        squares += float(((unbiased - truth) ** 2).sum())
        if names in fitted:
            fitted_squares += float(((fitted[names] - truth) ** 2).sum())
            some_squares += float(((unbiased - truth) ** 2).sum())
        planned_squares += float((error**2).sum())
        inside += int(((table["lower"].to_numpy() <= truth) & (truth <= table["upper"].to_numpy())).sum())
        cells += len(unbiased)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"Adult, 14 columns, 3 ways: published in {taken:.1f} CPU s, all {len(read)} tables read in {reading:.1f}; "
        f"{size / 1e6:.1f} MB stored, peak {memory:.0f} MB\n"
        f"  error {math.sqrt(squares / cells):.3f}, planned {math.sqrt(planned_squares / cells):.3f}; "
        f"intervals at 95 % hold {inside / cells:.4f} of {cells:,} cells\n"
        f"  values of each tenth table, {fitted_cells:,} cells, in {fitting:.1f} CPU s: error "
        f"{math.sqrt(fitted_squares / fitted_cells):.3f}, unbiased there {math.sqrt(some_squares / fitted_cells):.3f}"
    )


def wide(_: argparse.Namespace) -> None:
    code = (
        "import time, resource\n"
        "import discreet as dp\nfrom discreet import census\nfrom discreet.policy import load_policy\n"
        f"columns = {{f'c{{i}}': {{'type': 'int', 'bounds': [0, 9], 'nullable': False}} for i in range({WIDE})}}\n"
        "policy = load_policy({'version': '1', 'tables': {'t': {'unit': 'rows', 'columns': columns}}})\n"
        "for what in ('sum', 'largest'):\n"
        "    before = time.process_time()\n"
        "    question = census.PublishMarginals('t', dp.rho(1), 3, minimize=what)\n"
        "    plan = census.plan_marginals_question(question, policy)\n"
        "    print(f'  {what}: {len(plan.measurements.wanted.marginals):,} marginals, '\n"
        "          f'{time.process_time() - before:.1f} CPU s, '\n"
        "          f'{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB, '\n"
        "          f'over the least {plan.objective / plan.least - 1:+.1e}')\n"
    )
    print(f"{WIDE} columns of 10 values, 3 ways, planned (30 CPU s and 2,000 MB at most):", flush=True)
    subprocess.run([sys.executable, "-c", code], check=True)


def peer(options: argparse.Namespace) -> None:
    data, _ = adult(options.adult)
    errors, seconds, fitted, fitted_seconds = [], [], [], []
    with dp.connect({"adult": data}, {**policy(options.adult), "budget": {"rho": 10**13}}) as session:
        truth = census.marginals(session, "adult", dp.rho(10**12), ways=3, columns=FIVE)
        triples = [names for names in truth.marginals if len(names) == 3]
        exact = {names: np.rint(truth.table(*names, fit=False)["unbiased"].to_numpy()) for names in triples}
    for _ in range(options.runs):
        with dp.connect({"adult": data}, policy(options.adult)) as session:  # in another one the same question is free
            before = time.process_time()
            tables = census.marginals(session, "adult", dp.rho(options.rho), ways=triples, columns=FIVE)
            unbiased = {names: tables.table(*names, fit=False)["unbiased"].to_numpy() for names in triples}
            seconds.append(time.process_time() - before)
            values = {names: tables.table(*names)["value"].to_numpy() for names in triples}
            fitted_seconds.append(time.process_time() - before)
            errors.append(_score(unbiased, exact))
            fitted.append(_score(values, exact))
    codes, sizes = _codes(data, policy(options.adult))
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "codes.npy", codes)
        case = {
            "codes": str(Path(folder) / "codes.npy"), "sizes": sizes, "rho": float(options.rho),
            "cliques": [[FIVE.index(name) for name in names] for names in triples], "runs": options.peer_runs,
            "out": str(Path(folder) / "out"),
        }  # fmt: skip
        answer = asked([str(python_of("synth")), str(HERE / "peers" / "marginal_peers.py")], case, 3_600)
        print(f"5 columns of Adult, {len(triples)} marginals of 3, rho {options.rho}: root mean square error of a cell")
        print(f"  ours, unbiased                    {_rms(errors):8.3f}   {np.mean(seconds):7.3f} CPU s")
        print(f"  ours, values, biased              {_rms(fitted):8.3f}   {np.mean(fitted_seconds):7.3f} CPU s")
        if answer is None:
            print("  opendp[mbi] is not installed, or failed: --install-peers")
            return
        names = {"raw": "opendp[mbi], its noisy marginals ", "model": "opendp[mbi], its model, biased   "}
        for kind, name in names.items():
            scores = []
            for run in range(options.peer_runs):
                loaded = np.load(f"{case['out']}{run}.npz")
                scores.append(_score({names: loaded[f"{kind}{i}"] for i, names in enumerate(triples)}, exact))
            print(f"  {name} {_rms(scores):8.3f}   {np.mean(answer['seconds']):7.3f} CPU s")
        less = [np.mean(answer["seconds"]) / np.mean(each) for each in (seconds, fitted_seconds)]
        print(f"  CPU: {less[0]:.0f}x less, with values {less[1]:.0f}x")


def _score(estimates: dict[Any, Any], exact: dict[Any, Any]) -> float:
    squares = [((np.ravel(estimates[names]) - exact[names]) ** 2) for names in exact]
    return float(np.concatenate(squares).mean())


def _rms(squares: list[float]) -> float:
    return math.sqrt(float(np.mean(squares)))


def _codes(data: Any, stated: dict[str, Any]) -> tuple[np.ndarray[Any, Any], list[int]]:
    """The places of the five columns' values among their public keys."""
    columns, sizes = [], []
    for name in FIVE:
        declared = stated["tables"]["adult"]["columns"][name]
        keys = [*declared["keys"], *([None] if declared["nullable"] else [])]
        columns.append([keys.index(value) for value in data[name].to_pylist()])
        sizes.append(len(keys))
    return np.array(columns).T, sizes


JOBS = {"optimum": optimum, "publish": publish, "wide": wide, "peer": peer}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult", type=Path, default=HERE / "data")
    parser.add_argument("--jobs", nargs="*", choices=JOBS, default=list(JOBS))
    parser.add_argument("--rho", default=RHO)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--peer-runs", type=int, default=3)
    parser.add_argument("--install-peers", action="store_true")
    options = parser.parse_args()
    if options.install_peers:
        install("synth", "synth.txt")
    for name in options.jobs:
        JOBS[name](options)


if __name__ == "__main__":
    main()
