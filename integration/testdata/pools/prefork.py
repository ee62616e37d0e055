# A server of two worker processes, as gunicorn's, both busy; and five clients whose connections nobody accepts.
import ctypes
import os
import socket
import threading
import time


def render():
    while True:
        pass


def ask_bank():
    time.sleep(3600)


def worker(work):
    connection, _ = server.accept()
    connection.recv(1)
    connection.send(b"x")
    work()


def borrow():
    socket.create_connection(server.getsockname()).recv(1)


def fork():
    pid = os.fork()
    if pid == 0:
        ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
    return pid


server = socket.create_server(("127.0.0.1", 0), backlog=16)
for work in render, ask_bank:
    if fork() == 0:
        worker(work)
held = [socket.create_connection(server.getsockname()) for _ in range(2)]
for connection in held:
    connection.send(b"x")
    connection.recv(1)
if fork() == 0:
    server_name = server.getsockname()
    server.close()
    server = type("Name", (), {"getsockname": lambda self: server_name})()
    for _ in range(5):
        threading.Thread(target=borrow).start()
    print("ready", flush=True)
    time.sleep(3600)
time.sleep(3600)
