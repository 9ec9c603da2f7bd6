"""Generated requests against the API, as each role and as nobody: no failure of the server, no contract broken.

    python bench/hostile_api.py [--examples 50] [--workers 1]

Makes an environment of its own for schemathesis, starts a server on the demo's visits, and lets schemathesis send what
the OpenAPI document allows and what it does not: `--examples` for each operation and role. Ends with the number of
requests, and with what the ledger charged, which is what requests with a `max_price` and a key asked for.
"""

from __future__ import annotations

import argparse
import base64
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import httpx2

from discreet.datasets import rand
from discreet.ledger import open_ledger
from discreet.privacy import approx

CHECKS = (
    "not_a_server_error,content_type_conformance,status_code_conformance,response_headers_conformance,"
    "response_schema_conformance"
)
SETTINGS = """
state = "desk"
[sources.visits]
policy = "visits.toml"
data = { visits = "visits.parquet" }
ledger = "ledger"
shelf = true
[http]
listen = ":0"
account_rate = 1e6
account_burst = 1e6
address_rate = 1e6
address_burst = 1e6
"""


def schemathesis(home: Path) -> Path:
    """A schemathesis of this run's own."""
    venv.create(home, with_pip=True)
    subprocess.run([home / "bin" / "pip", "install", "--quiet", "schemathesis==4.32.5"], check=True)
    return home / "bin" / "schemathesis"


def basic(account: str, token: str) -> str:
    return f"Authorization: Basic {base64.b64encode(f'{account}:{token}'.encode()).decode()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=50)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        program = schemathesis(home / "env")
        (home / "visits.toml").write_bytes(rand.policy.read_bytes())
        (home / "visits.parquet").write_bytes(rand.table.read_bytes())
        (home / "serve.toml").write_text(SETTINGS)
        with open_ledger(home / "ledger", approx(3, "1e-6"), relation="add_remove") as ledger:
            ada = str(ledger.grant("ada", approx(2, "1e-7")))
            officer = str(ledger.grant("officer", role="auditor"))
        command = [sys.executable, "-m", "discreet.cli", "serve", "--config", str(home / "serve.toml")]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            assert server.stderr is not None
            address = server.stderr.readline().split()[-1]
            code = server.stderr.readline().split()[-1]
            owner = httpx2.post(f"{address}/owner/sign-in", json={"code": code}).json()["token"]
            roles = {
                "analyst": basic("ada", ada),
                "auditor": basic("officer", officer),
                "owner": f"Authorization: Bearer {owner}",
                "nobody": "X-Nothing: nothing",
            }
            total = 0
            for role, header in roles.items():
                done = subprocess.run(
                    [
                        *(program, "run", f"{address}/openapi.json", "--header", header, "--mode", "all"),
                        *("--checks", CHECKS, "--phases", "coverage,fuzzing", "--workers", str(options.workers)),
                        *("--max-examples", str(options.examples)),
                    ],
                    check=False,
                    capture_output=True,
                    text=True,
                    cwd=home,
                )
                found = re.search(r"([\d,]+) generated.*", done.stdout)
                print(f"{role}: exit {done.returncode}, {found[0] if found else done.stdout[-2000:]}", flush=True)
                if done.returncode:
                    print("\n".join(line for line in done.stdout.splitlines() if "ST1" in line or "[5" in line))
                total += int(found[1].replace(",", "")) if found else 0
            server.terminate()
        with open_ledger(home / "ledger") as ledger:
            print(
                f"{total:,} requests; charged: {ledger.spent!r} in {ledger.kinds()}; {ledger.verify()} entries are good"
            )


if __name__ == "__main__":
    main()
