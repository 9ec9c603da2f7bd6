"""`discreet` without its start-up: a server that has it loaded forks a process of its own for each command.

A page has many commands, and to load numpy, scipy and DuckDB for each took most of the time of a page. A command
still has its own process, arguments, directory, environment, streams and exit code. That the command line starts from
nothing is tested in `tests/cli/test_process.py`.

As a program this is either end: ``warm.py serve SOCKET``, or ``warm.py ask SOCKET ARGUMENT...``, which loads next to
nothing.
"""

from __future__ import annotations

import os
import socket
import sys

MODULES = """
    discreet.cli._app discreet.session discreet.audit discreet.explain discreet.engines.duckdb
    discreet.ledger.sqlite._sqlite
    cryptography.hazmat.primitives.ciphers.algorithms narwhals.stable.v1 pyarrow.interchange pyarrow.parquet
    pydantic.type_adapter rich._emoji_codes rich.console rich.panel rich.table scipy.optimize scipy.special
    sqlalchemy.dialects.sqlite
"""
LONGEST = 1 << 16


def serve(path: str) -> None:
    """Run one command after another; say so on stdout when the first can come."""
    import gc
    from importlib import import_module

    for name in MODULES.split():
        import_module(name)
    import typer.main

    from discreet.cli._app import app

    built = typer.main.get_command(app)  # of all commands, which Typer would build anew for each
    typer.main.get_command = lambda _: built
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        print("ready", flush=True)
        while True:
            connection, _ = listening.accept()
            with connection:
                sent, streams, _, _ = socket.recv_fds(connection, LONGEST, 3)
                child = os.fork()
                if child == 0:
                    run(sent, streams)
                for each in streams:
                    os.close(each)
                _, status = os.waitpid(child, 0)
                connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def run(sent: bytes, streams: list[int]) -> None:
    """One command, to the end of this process: nothing of what was loaded is taken down."""
    import atexit
    import json
    import traceback

    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace")  # noqa: SIM115
    words, directory, environment = json.loads(sent)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(directory)
    sys.path[0] = directory
    sys.argv = ["discreet", *words]
    from discreet.cli import main

    code: object = 1
    try:
        main()
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:  # noqa: BLE001 (whatever it is, this process ends)
        traceback.print_exc()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(code if isinstance(code, int) else 1)


def ask(path: str, words: list[str]) -> int:
    """The exit code of a command whose streams are those of this process."""
    import json

    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        sent = json.dumps([words, os.getcwd(), dict(os.environ)]).encode()  # noqa: PTH109 (pathlib is slow to load)
        assert len(sent) < LONGEST
        socket.send_fds(connection, [sent], [0, 1, 2])
        return int(connection.recv(16))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", path]:
            serve(path)
        case ["ask", path, *words]:
            sys.exit(ask(path, words))
