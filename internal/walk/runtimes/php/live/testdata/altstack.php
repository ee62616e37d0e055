<?php
// A handler that sleeps runs on a stack of its own: $argv[1] KiB below the environment, or, with 0, in the heap.
$c = FFI::cdef('
	typedef struct { void *sp; int flags; size_t size; } stack_t;
	struct sigaction { void *handler; unsigned long mask[16]; int flags; void *restorer; };
	int sigaltstack(const stack_t *, stack_t *);
	int sigaction(int, const struct sigaction *, struct sigaction *);
	void *dlsym(void *, const char *);
	void *malloc(size_t);
	extern char **environ;
');
$stack = $c->new('stack_t');
$stack->size = 64 << 10;
$below = (int)$argv[1];
$stack->sp = $below ? FFI::cast('void *', FFI::cast('char *', $c->environ) - ($below << 10)) : $c->malloc($stack->size);
$action = $c->new('struct sigaction');
$action->handler = $c->dlsym(null, 'pause');
$action->flags = 0x08000000; // SA_ONSTACK
if ($c->sigaltstack(FFI::addr($stack), null) || $c->sigaction(10, FFI::addr($action), null)) {
	exit(1);
}
function inner() { posix_kill(getmypid(), 10); }
function outer() { array_map(fn() => inner(), [1]); }
echo "ready\n";
outer();
