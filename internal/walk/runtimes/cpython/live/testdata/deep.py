"""A program with 30 calls on its stack, each second one through C, that spins at their end."""


def spin():
    n = 0
    while True:
        n += 1


def down(depth):
    if depth == 0:
        spin()
    return max((0,), key=lambda _: down(depth - 1))


print("ready", flush=True)
down(14)
