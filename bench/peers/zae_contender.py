"""zae-limiter as a contender: lines of JSON in, lines of JSON out (contender.ts says what they hold).

Its stack is not deployed, since that takes CloudFormation: the library makes its own table and registers its namespace, as it does where the stack
is managed by others. What the stack has beside the table, a function that sums up usage from the table's stream, is missing.
"""

import asyncio
import json
import sys
import time

from zae_limiter import Limit, RateLimiter, RateLimitExceeded, Repository

STACK = "bench-zae"


async def prepare(endpoint: str) -> tuple[Repository, RateLimiter]:
    place = {"region": "us-east-1", "endpoint_url": endpoint}
    maker = Repository(name=STACK, **place)
    await maker.create_table()
    await maker.close()
    repository = await Repository.open(stack=STACK, auto_update=False, **place)
    return repository, RateLimiter(repository=repository)


async def run(limiter: RateLimiter, command: dict) -> dict:
    tally = {"allowed": 0, "denied": 0, "errors": 0, "degraded": 0}
    allowed_at, times, reasons = [], [], []
    numbers = iter(range(command["requests"]))

    async def line() -> None:
        for number in numbers:
            subject = f"{command['prefix']}:{number % command['subjects']}"
            start = time.perf_counter()
            try:
                async with limiter.acquire(subject, command["limit"], {"units": command["cost"]}):
                    pass
                tally["allowed"] += 1
                allowed_at.append(time.time() * 1000)
            except RateLimitExceeded:
                tally["denied"] += 1
            except Exception as error:
                tally["errors"] += 1
                reasons.append(f"{type(error).__name__}: {error}")
            times.append((time.perf_counter() - start) * 1000)

    start = time.perf_counter()
    await asyncio.gather(*(line() for _ in range(command["inFlight"])))
    elapsed = (time.perf_counter() - start) * 1000
    ordered = sorted(times)

    def percentile(share: float) -> float:
        return ordered[max(0, -int(-len(ordered) * share // 1) - 1)]

    return {
        **tally,
        "reason": reasons[0] if reasons else None,
        "elapsedMs": elapsed,
        "p50Ms": percentile(0.5),
        "p99Ms": percentile(0.99),
        "allowedAt": allowed_at,
    }


async def main() -> None:
    repository, limiter = await prepare(sys.argv[1])
    print("ready", flush=True)

    async def answer(command: dict) -> None:
        try:
            if command["do"] == "take":
                value = await run(limiter, command)
            else:
                units, seconds = command["units"], command["seconds"]
                limit = Limit.custom("units", capacity=units, refill_amount=units, refill_period_seconds=seconds)
                value = await repository.set_resource_defaults(command["name"], [limit]) and None
            reply = {"id": command["id"], "value": value}
        except Exception as error:
            reply = {"id": command["id"], "error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), flush=True)

    loop = asyncio.get_running_loop()
    tasks = set()
    while text := await loop.run_in_executor(None, sys.stdin.readline):
        task = asyncio.create_task(answer(json.loads(text)))
        tasks.add(task)
        task.add_done_callback(tasks.discard)


asyncio.run(main())
