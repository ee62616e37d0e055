package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// counter is one thread's count of work, on a cache line of its own.
type counter struct {
	n atomic.Uint64
	_ [56]byte
}

// Workload is the program that is measured. It runs threads that compute and
// threads that sleep, and answers each line on in with the work done so far, until
// in ends.
func Workload(ctx context.Context, running, sleeping int, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	runtime.GOMAXPROCS(running + 1)
	counts := make([]counter, running)
	for i := range counts {
		go work(ctx, &counts[i])
	}
	if err := crowd(sleeping); err != nil {
		return err
	}
	fmt.Fprintln(out, "ready")
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var sum uint64
		for i := range counts {
			sum += counts[i].n.Load()
		}
		if _, err := fmt.Fprintln(out, sum); err != nil {
			return err
		}
	}
	return nil
}

// work counts pieces of work of some hundred nanoseconds each.
func work(ctx context.Context, c *counter) {
	runtime.LockOSThread()
	x := uint64(1)
	for ctx.Err() == nil {
		for range 64 {
			x = mix(x)
			c.n.Add(1)
		}
	}
	sink.Store(x)
}

var sink atomic.Uint64

// mix is a piece of work: it depends on itself, so that nothing runs ahead.
//
//go:noinline
func mix(x uint64) uint64 {
	for range 200 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// crowd starts threads that sleep in a read of a pipe to which nobody writes.
func crowd(n int) error {
	if n == 0 {
		return nil
	}
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	var asleep sync.WaitGroup
	asleep.Add(n)
	for range n {
		go func() {
			runtime.LockOSThread()
			asleep.Done()
			var b [1]byte
			for {
				if _, err := unix.Read(fds[0], b[:]); err != unix.EINTR {
					return
				}
			}
		}()
	}
	asleep.Wait()
	return nil
}
