# SPDX-License-Identifier: Apache-2.0

"""A web service that is slow though its CPU is idle, and eight clients of it: python3 shop.py SECONDS"""
import http.client
import http.server
import os
import signal
import sys
import threading
import time

lock = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # a connection, and so a thread, for many requests

    def do_GET(self):
        body = self.reply()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Shop(Handler):
    def reply(self):
        return price()


class Exchange(Handler):
    def reply(self):
        time.sleep(0.04)
        return b"1.08"


def price():
    with lock:
        return fetch_rate()


def fetch_rate():
    """Asks the exchange, another service."""
    to_exchange.request("GET", "/")
    return to_exchange.getresponse().read()


def client():
    connection = http.client.HTTPConnection("localhost", shop.server_port)
    while True:
        connection.request("GET", "/")
        connection.getresponse().read()


shop = http.server.ThreadingHTTPServer(("localhost", 0), Shop)
exchange = http.server.ThreadingHTTPServer(("localhost", 0), Exchange)
to_exchange = http.client.HTTPConnection("localhost", exchange.server_port)
child = not os.fork()
signal.alarm(int(sys.argv[1]))  # in both processes: a fork clears it
if not child:
    shop.serve_forever()
for _ in range(8):
    threading.Thread(target=client).start()
exchange.serve_forever()
