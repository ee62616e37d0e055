"""Tasks that end and begin without end, named by numbers, each of functions with its number, at three depths of which
the innermost comes and goes."""
import asyncio
import itertools

SOURCE = """
async def inner_{0}(n):
    await sleep(0 if n % 3 else 0.0005)
async def middle_{0}():
    for n in range(6):
        await inner_{0}(n)
async def outer_{0}():
    await middle_{0}()
"""


async def keeps(first):
    for i in itertools.count(first, 40):
        name, space = "n%d" % i, {"sleep": asyncio.sleep}
        exec(SOURCE.format(name), space)
        await asyncio.Task(space["outer_" + name](), name=name)


async def main():
    keepers = [asyncio.create_task(keeps(i)) for i in range(40)]
    print("ready", flush=True)
    await asyncio.gather(*keepers)


asyncio.run(main())
