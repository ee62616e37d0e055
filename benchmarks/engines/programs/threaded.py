"""A server that starts a thread for each request, and four clients, which are a process of their own."""
import http.client
import http.server
import os
import socketserver
import threading


def price(rows):
    return sum(row["price"] * row["count"] for row in rows)


def render(rows):
    return ",".join("%d:%s" % (row["id"], row["name"]) for row in rows)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def do_GET(self):
        rows = [{"id": i, "name": "n%d" % (i * 7919 % 1000), "price": i % 97, "count": i % 5} for i in range(400)]
        rows.sort(key=lambda row: row["name"])
        body = ("%d %s" % (price(rows), render(rows))).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 64


def ask(port):
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/")
            connection.getresponse().read()
            connection.close()
        except OSError:
            if os.getppid() != server_pid:
                os._exit(0)


server_pid = os.getpid()
server = Server(("127.0.0.1", 0), Handler)
if os.fork() == 0:
    server.socket.close()
    for _ in range(3):
        threading.Thread(target=ask, args=(server.server_port,), daemon=True).start()
    ask(server.server_port)
server.serve_forever()

# SPDX-License-Identifier: Apache-2.0
