# Tasks of asyncio that compute in turn and sleep. It ends after fifteen minutes.
import asyncio
import time

END = time.monotonic() + 900


async def leaf(n):
    sum(range(20000))
    await asyncio.sleep(n / 1000)


async def work(n):
    while time.monotonic() < END:
        await leaf(n)


async def main():
    tasks = [asyncio.create_task(work(n), name=f"work {n}") for n in range(20)]
    print("ready", flush=True)
    await asyncio.gather(*tasks)


asyncio.run(main())
