"""A server of asyncio's streams: HTTP with connections that are kept, three coroutines deep."""
import common

import asyncio
import json


async def total(body):
    await asyncio.sleep(0)
    return sum(len(word) for word in body.split())


async def answer(path):
    body = " ".join("%s-%d" % (path, n) for n in range(200))
    return json.dumps({"path": path, "total": await total(body), "words": body.split()[:20]}).encode()


async def connection(reader, writer):
    while True:
        line = await reader.readline()
        if not line:
            break
        while (await reader.readline()).strip():
            pass
        body = await answer(line.split()[1].decode())
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
    writer.close()


async def main():
    server = await asyncio.start_server(connection, "127.0.0.1", 0)
    common.ready(server.sockets[0].getsockname()[1])
    async with server:
        await server.serve_forever()


asyncio.run(main())

# SPDX-License-Identifier: Apache-2.0
