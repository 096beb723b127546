"""Attacks the API with requests made from its own document, each run with others, and holds every answer to it.

    PYTHONPATH=tests python -m soak.api_fuzzing --runs 10 --examples 200

A run is a server of its own. The seed of a run that found something is printed, and makes the same run again.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from collections.abc import Sequence

from api.fuzzing import Fuzzed, fuzz, fuzzed_server


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; 1 where an answer was none that the document describes."""
    parser = argparse.ArgumentParser(prog="soak.api_fuzzing", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--examples", type=int, default=100, help="how many requests of each operation, in each way")
    parser.add_argument("--steps", type=int, default=8, help="the longest sequence of requests")
    parser.add_argument("--seed", type=int, help="make this run again, and no other")
    options = parser.parse_args(arguments)
    seeds = [options.seed] if options.seed is not None else random.sample(range(2**32), options.runs)
    found = 0
    for seed in seeds:
        result = asyncio.run(_run(seed, options.examples, options.steps))
        sys.stdout.write(
            f"seed {seed}: {result.requests:,} requests, {len(result.failures)} answers that should not be\n"
        )
        for failure in result.failures:
            sys.stdout.write(f"{failure}\n\n")
        found += len(result.failures)
    return 1 if found else 0


async def _run(seed: int, examples: int, steps: int) -> Fuzzed:
    async with fuzzed_server() as (server, address):
        return await fuzz(server, address, examples=examples, steps=steps, seed=seed)


if __name__ == "__main__":
    sys.exit(main())
