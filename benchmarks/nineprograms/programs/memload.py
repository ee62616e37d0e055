# Load for memcached: sets and gets on four connections.
import socket
import sys
import threading


def load():
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    while True:
        s.sendall(b"set k 0 0 5\r\nvalue\r\n" * 20 + b"get k\r\n" * 80)
        s.recv(1 << 16)


import time

time.sleep(0.5)
for _ in range(4):
    threading.Thread(target=load).start()

# SPDX-License-Identifier: Apache-2.0
