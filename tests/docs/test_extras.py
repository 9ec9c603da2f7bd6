"""The wheel as pip installs it with one extra, or none, and nothing else: the pages that need the extra run there.

A page runs without the blocks that need another extra. Long, since every environment is made anew.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from pages import blocks

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").glob("*.md") if ".zh." not in page.name)]
RUN_PAGE = Path(__file__).with_name("pages.py")
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
NEEDED_BY = {
    "client": r"dp\.connect\(url|ada\.(?:sql|plan|rehearse|remaining)|ben\.sql|ada, ben",
    "fakes": r"masking\.Fake",
    "formats": r"masking\.EncryptFormat",
    "ibis": r"import ibis|(?:visits|session)\.table\(",
    "learn": (
        r"learn\.(?:Naive|Logistic|Additive|Random|Decision|Ridge|PCA|KMeans|Search|evaluate)|model\.|often\.model|fitted|"
        r"sklearn|counted_in"
    ),
    "ortools": r"cp-sat",
    "plots": r"images/|\.plot\(",
    "postgres": r"RAND_URL",
    "server": r"discreet serve|\bserve visits|httpx2|\{url\}|\(url,|server\.terminate|\[sources",
    "shell": r"discreet shell",
    "spark": r"pyspark",
    "text": r"masking\.load_presidio",
    "torch": r"torch|private\.|network|learn\.correlated|often\.net",
}
"""What a block has in it if it needs the extra."""
NOBODYS = r"import polars|rows_to_p|ratings|under_the_ledger|nx\.|club|generated|village"
"""What needs a package that is no extra's."""
ALSO = {
    "client": """
import discreet as dp
session = dp.connect("https://desk.example", account="ada", token="a-token")
assert "desk.example" in repr(session) and "a-token" not in repr(session)
session.close()
""",
    "postgres": """
import os
import discreet as dp
from discreet.ledger import open_ledger
with open_ledger(os.environ["RAND_URL"] + "&ledger=extra", dp.pure(1)) as ledger:
    assert ledger.remaining == dp.pure(1)
""",
    "shell": """
import os, pty
pid, terminal = pty.fork()
if pid == 0:
    words = "--data rand/visits.csv --policy rand/visits.toml --ledger shell.ledger"
    os.execlp("discreet", "discreet", "shell", *words.split())
shown = b""
while b"discreet>" not in shown:
    shown += os.read(terminal, 4096)
os.write(terminal, b"\\\\quit\\r")
try:
    while os.read(terminal, 4096):
        pass
except OSError:  # Linux says so when the other end is closed
    pass
assert os.waitpid(pid, 0)[1] == 0, shown
""",
    "spark": """
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from discreet import local
spark = SparkSession.builder.master("local[1]").getOrCreate()
scheme = local.KaryRandomizedResponse(domain=4, epsilon=8)
pq.write_table(local.to_arrow(scheme.client().encode([1, 2, 3])), "reports.parquet")
assert local.add_frame(scheme.server(), spark.read.parquet("reports.parquet")).reports == 3
""",
    "text": """
import pyarrow as pa, spacy
import discreet as dp
from discreet.anonymize import masking
spacy.blank("en").to_disk("blank")  # a model that knows no names: presidio's own patterns are left
mask = masking.FreeText(analyzer=masking.load_presidio("blank"))
texts = pa.chunked_array([["Ada, ada@example.org, MAC 00:1B:44:11:3A:B7, 123e4567-e89b-12d3-a456-426614174000"]])
assert mask.apply(texts).to_pylist() == ["Ada, [EMAIL], MAC [MAC_ADDRESS], [UUID]"], mask.apply(texts)
for model, language in (("nowhere", "en"), ("blank", "nl")):
    try:
        masking.FreeText(analyzer=masking.load_presidio(model), language=language).apply(texts)
    except dp.ParameterError:
        continue
    raise AssertionError
""",
}
"""What an extra brings that no page shows."""
REFUSED = {
    "client": 'dp.connect("https://desk.example", account="ada", token="a-token")',
    "fakes": (
        "import pyarrow as pa; from discreet.anonymize import masking; "
        "masking.Fake(b'0' * 16).apply(pa.chunked_array([['a']]))"
    ),
    "formats": (
        "import pyarrow as pa; from discreet.anonymize import masking; "
        "masking.EncryptFormat(b'0' * 16).apply(pa.chunked_array([['123456']]))"
    ),
    "ibis": 'dp.connect({"visits": "rand/visits.csv"}, "rand/visits.toml").table("visits")',
    "ortools": (
        "import pyarrow as pa; from discreet import attack; "
        "attack.microdata([pa.table({'sex': ['F'], 'n': [1]})], {'sex': ['F', 'M']}, solver='cp-sat')"
    ),
    "plots": "from discreet import explain; explain.loss_chart(dp.pure(1))",
    "postgres": 'dp.connect("postgresql://analyst@db.example/health", "rand/visits.toml")',
    "server": "from discreet.server.team import Settings, SourceSettings, serve; serve(Settings(sources={'visits': "
    "SourceSettings(policy='rand/visits.toml', data='rand/visits.csv', ledger='visits.ledger')}))",
    "shell": "from discreet.cli.shell._prompt import check_installed; check_installed()",
    "learn": "from discreet import learn; learn.NaiveBayes",
    "spark": 'dp.connect("spark://local?visits=rand/visits.csv", "rand/visits.toml")',
    "text": "from discreet.anonymize import masking; masking.load_presidio('en_core_web_sm')",
    "torch": "from discreet import learn; learn.Private",
}
"""What is refused without the extra."""


def needs(text: str) -> set[str]:
    return {extra for extra, words in NEEDED_BY.items() if re.search(words, text)}


def pages_of(extra: str) -> list[Path]:
    """The pages that have a block for the extra; for none, those that need none, and the README."""
    found = {page: set().union(*(needs(block.text) for block in blocks(page))) for page in PAGES}
    return [page for page, all_needed in found.items() if extra in (all_needed or {""})] + PAGES[: extra == ""]


def test_each_extra_has_pages() -> None:
    assert set(EXTRAS) == set(NEEDED_BY) == set(REFUSED)
    assert all(pages_of(extra) for extra in ["", *EXTRAS])


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, str]]:
    """The variables of a shell in a new environment that has the wheel with an extra."""
    folder = tmp_path_factory.mktemp("clean")
    wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", folder, ROOT]
    subprocess.run(wheel, check=True)
    (built,) = folder.glob("*.whl")

    @cache
    def installed(extra: str) -> dict[str, str]:
        place = folder / (extra or "none")
        venv.create(place, with_pip=True)
        shell = {name: value for name, value in os.environ.items() if not name.startswith(("PY", "VIRTUAL", "FORCE"))}
        shell |= {"PATH": f"{place / 'bin'}{os.pathsep}{shell['PATH']}", "COLUMNS": "100"}
        if extra == "torch":  # any build will do: the one for this machine, and not the largest
            pinned = str(ROOT / "requirements" / "torch.txt")
            run(["python", "-m", "pip", "install", "--quiet", "--requirement", pinned], shell, folder)
        run(["python", "-m", "pip", "install", "--quiet", f"{built}[{extra}]" if extra else str(built)], shell, folder)
        return shell

    return installed


@pytest.fixture(scope="module")
def rand(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `discreet demo --keep rand` leaves."""
    folder = tmp_path_factory.mktemp("demo")
    run([sys.executable, "-m", "discreet.cli", "demo", "--keep", "rand"], dict(os.environ), folder)
    return folder / "rand"


def run(command: list[str], shell: dict[str, str], folder: Path) -> str:
    """What a program prints that ends well."""
    program = shutil.which(command[0], path=shell["PATH"])
    assert program
    done = subprocess.run(
        [program, *command[1:]],
        env=shell,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.soak
@pytest.mark.parametrize(
    "extra", ["", *(pytest.param(each, marks=[pytest.mark.postgres] * (each == "postgres")) for each in EXTRAS)]
)
def test_pages_run_with_their_extra_alone(
    extra: str,
    environment: Callable[[str], dict[str, str]],
    rand: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    shell = dict(environment(extra))
    if extra == "postgres":
        shell["RAND_URL"] = request.getfixturevalue("rand_url")
    shutil.copytree(rand, tmp_path / "rand")
    left_out = "|".join([NOBODYS, *(words for each, words in NEEDED_BY.items() if each != extra)])
    for page in pages_of(extra):
        folder = tmp_path / page.stem
        (folder / "images").mkdir(parents=True)
        (folder / "data").symlink_to(ROOT / "docs" / "data")
        run(["python", str(RUN_PAGE), str(page), left_out], shell, folder)
    run(["python", "-c", ALSO.get(extra, "")], shell, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("extra", EXTRAS)
def test_without_an_extra_errors_name_it(
    extra: str, environment: Callable[[str], dict[str, str]], rand: Path, tmp_path: Path
) -> None:
    shutil.copytree(rand, tmp_path / "rand")
    code = f"import discreet as dp\ntry:\n    {REFUSED[extra]}\nexcept dp.MissingExtra as error:\n    print(error)"
    assert f"discreet[{extra}]" in run(["python", "-c", code], environment(""), tmp_path)
    assert "Usage" in run(["discreet", "--help"], environment(""), tmp_path)
