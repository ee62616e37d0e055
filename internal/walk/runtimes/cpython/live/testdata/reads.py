"""Tasks that wait for bytes of a socket and of a child's pipe, and one that waits for none. It writes their names and
descriptors, a line of JSON."""
import asyncio
import json
import socket
import sys


async def read(reader):
    await reader.readline()


async def main():
    one, other = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=one)
    child = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    pipe = child._transport.get_pipe_transport(1)
    tasks = [asyncio.create_task(read(r), name=n) for r, n in ((reader, "socket"), (child.stdout, "pipe"))]
    tasks.append(asyncio.create_task(asyncio.sleep(86400), name="sleep"))
    await asyncio.sleep(0.1)  # all have begun
    print(json.dumps({"socket": one.fileno(), "pipe": pipe.get_extra_info("pipe").fileno(),
                      "minor": sys.version_info.minor}), flush=True)
    await tasks[-1]


asyncio.run(main())
