"""``frontmind window check``: what is wrong with requests of any origin."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from frontmind.cli.options import JsonOption
from frontmind.cli.request_files import RequestInFile, read_named_requests
from frontmind.cli.terminal import emit, json_text, on_one_line, printable, say
from frontmind.errors import UsageError
from frontmind.providers.reading import allowed_of
from frontmind.window.lint import Finding, lint

EXIT_WRONG = 1


class OutputFormat(StrEnum):
    """TEXT for people; GITHUB as workflow commands that annotate the files."""

    TEXT = "text"
    GITHUB = "github"


def check(
    requests: Annotated[
        list[str], typer.Argument(metavar="REQUEST...", help="Request files, in the order in which they were sent.")
    ],
    as_json: JsonOption = False,
    output_format: Annotated[
        OutputFormat, typer.Option("--format", help="How findings are printed; github annotates files.")
    ] = OutputFormat.TEXT,
) -> None:
    """Look for what breaks a request or its prompt cache, in requests of any supported provider.

    Requests of one conversation tell about each other: pass them in one file, or in the order in which they were sent.
    Exits with 0 when nothing is wrong, 1 when something is, 2 when it could not run.
    """
    if as_json and output_format is not OutputFormat.TEXT:
        raise UsageError(f"--json and --format {output_format.value} are two outputs; use one of them")
    read = [request for name in requests for request in read_named_requests(name)]
    layouts = [request.layout for request in read]
    results = list(zip(read, lint(layouts, [allowed_of(layout) for layout in layouts]), strict=True))
    found = sum(len(findings) for _, findings in results)
    if as_json:
        emit(json_text(_as_json(results)) + "\n")
    elif output_format is OutputFormat.GITHUB:
        for request, findings in results:
            for finding in findings:
                emit(annotation(request, finding) + "\n")
    else:
        for request, findings in results:
            for finding in findings:
                where = f"{on_one_line(request.name)}: {finding.place}"
                say(f"{where}: {finding.severity.value}: {finding.message} [{finding.rule}]")
                say(f"  {finding.advice}")
        say(f"{len(read)} request(s) checked, {found} finding(s)")
    if found:
        raise typer.Exit(EXIT_WRONG)


def annotation(request: RequestInFile, finding: Finding) -> str:
    """The finding as a workflow command of GitHub Actions."""
    place = finding.place if request.alone else f"request {request.number}, {finding.place}"
    properties = f"file={_property(request.file)},line={request.line},title={_property(finding.rule)}"
    return f"::{finding.severity.value} {properties}::{_data(f'{place}: {finding.message}; {finding.advice}')}"


def _data(text: str) -> str:
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return printable(escaped)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _as_json(results: list[tuple[RequestInFile, tuple[Finding, ...]]]) -> dict[str, object]:
    return {
        "checked": len(results),
        "findings": [
            {
                "file": request.file,
                "request": request.number,
                "line": request.line,
                "rule": finding.rule,
                "severity": finding.severity.value,
                "place": finding.place,
                "message": finding.message,
                "advice": finding.advice,
            }
            for request, findings in results
            for finding in findings
        ],
    }
