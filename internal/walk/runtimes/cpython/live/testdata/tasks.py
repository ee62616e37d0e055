"""Tasks of asyncio that wait in many ways. It writes what the interpreter itself knows of them, a line of JSON:
name: [class of what it awaits, names of tasks in that, [function, line] from the innermost on]. Then its loop sleeps,
or with "spin" runs in the main task without end."""
import asyncio
import gc
import json
import sys
import types
import warnings

warnings.simplefilter("ignore")


async def leaf(future, n):
    if n > 0:
        await leaf(future, n - 1)
    else:
        await future


async def outer(future):
    x = 1
    return x + await leaf(future, 3)


class Made:
    def __init__(self, future):
        self.future = future

    def __await__(self):
        yield from leaf(self.future, 0).__await__()


async def by_object(future):
    await Made(future)


async def numbers(future):
    for i in range(3):
        await leaf(future, 0)
        yield i


async def by_generator(future):
    async for _ in numbers(future):
        pass


@types.coroutine
def old(future):
    for _ in (i for i in range(3)):  # a generator on the stack that it does not await
        yield from future.__await__()


async def by_old(future):
    await old(future)


async def with_helper(future):
    helper = leaf(future, 0)  # a coroutine among its local variables that it does not await
    try:
        await future
    finally:
        helper.close()


async def joins(task):
    await task


async def gathers(*tasks):
    await asyncio.gather(*tasks)


async def grouped(names, future):
    if hasattr(asyncio, "TaskGroup"):
        async with asyncio.TaskGroup() as group:
            for name in names:
                group.create_task(leaf(future, 0), name=name)
    else:
        await future


async def limited(future):
    await asyncio.wait_for(future, 86400)


class Own(asyncio.Task):
    pass


def inside(awaited):
    """What an object that stands for a coroutine stands for, itself if it is none such."""
    for one in gc.get_referents(awaited):
        if isinstance(awaited, stands_for) and isinstance(one, coroutines + stands_for):
            return inside(one)
    return awaited


def chain(task):
    """The interpreter's own list of a task's coroutines, the innermost first."""
    at, found = inside(task.get_coro()), []
    while isinstance(at, coroutines):
        prefix = {types.CoroutineType: "cr_", types.GeneratorType: "gi_"}.get(type(at), "ag_")
        code = getattr(at, prefix + "code")
        name = getattr(code, "co_qualname", code.co_name)
        found.insert(0, [name, getattr(at, prefix + "frame").f_lineno])
        at = inside(getattr(at, "gi_yieldfrom" if prefix == "gi_" else prefix + "await"))
    return found


async def main():
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def task(name, coroutine, cls=asyncio.Task):
        kept.append(cls(coroutine, loop=loop, **({"name": name} if name else {})))
        return kept[-1]

    task("outer", outer(future))
    task("object", by_object(future))
    task("generator", by_generator(future))
    task("old", by_old(future))
    task("helper", with_helper(future))
    task("own", leaf(future, 1), Own)
    leaves = [task("leaf-\u00fc\u4e16%d" % i, leaf(future, 0)) for i in range(3)]
    task("joins", joins(leaves[0]))
    task("gathers", gathers(*leaves))
    task("grouped", grouped(["grouped-1", "grouped-2"], future))
    task("limited", limited(loop.create_future()))
    task("", leaf(future, 0))
    task("ended", asyncio.sleep(0))
    await asyncio.sleep(0.1)  # all have begun
    if sys.argv[1:] == ["spin"]:
        ready = task("ready", leaf(future, 0))
    truth = {}
    for one in asyncio.all_tasks():
        if one is not asyncio.current_task():
            waits = one._fut_waiter
            names = []
            if isinstance(waits, asyncio.Task):
                names = [waits.get_name()]
            elif hasattr(waits, "_children"):
                names = [child.get_name() for child in waits._children]
            else:  # 3.14: those of a TaskGroup know who awaits them
                others = asyncio.all_tasks()
                names = [t.get_name() for t in others if one in (getattr(t, "_asyncio_awaited_by", None) or ())]
            truth[one.get_name()] = [type(waits).__name__, names, chain(one)]
    print(json.dumps(truth), flush=True)
    if sys.argv[1:] == ["spin"]:
        while True:
            pass
    await future


generator = numbers(None)
stands_for = (type(generator.__anext__()), type(generator.athrow(ValueError)), type(asyncio.sleep(0).__await__()))
coroutines = (types.CoroutineType, types.GeneratorType, types.AsyncGeneratorType)
kept = []
asyncio.run(main())
