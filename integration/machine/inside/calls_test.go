// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

type counts struct{ eintr, wakeups, handled uint64 }

func (r *running) counts(t *testing.T) (c counts) {
	t.Helper()
	fmt.Fprintln(r.in)
	line, err := r.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(line, &c.eintr, &c.wakeups, &c.handled); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return c
}

func TestForcedStopsOfASleepingThreadAreNotNoticed(t *testing.T) {
	for _, mode := range []string{"epoll", "pwait"} {
		p := start(t, "target", mode, "-1")
		prof := recorded(t, "--rung", "stop", "-F", "49", "-d", "4", "-p", strconv.Itoa(p.pid))
		n := p.counts(t)
		var samples int64
		for _, s := range prof.Sample {
			samples += s.Value[0]
		}
		t.Logf("%s: %d samples at two threads, the program saw %+v", mode, samples, n)
		if n.wakeups != 0 || n.eintr != 0 {
			t.Errorf("%s: after %d samples of two threads the program's counts are %+v, want no wake-up and no EINTR", mode,
				samples, n)
		}
	}
}

func TestDefaultSamplesOfASleepingThreadAreNotNoticed(t *testing.T) {
	p := start(t, "target", "epoll", "-1")
	recorded(t, "-F", "97", "-d", "3", "-p", strconv.Itoa(p.pid))
	dumpOf(t, p.pid)
	dumpOf(t, p.pid, "--atomic")
	if n := p.counts(t); n.eintr != 0 || n.wakeups != 0 {
		t.Errorf("the program's counts are %+v, want no wake-up and no EINTR", n)
	}
}

func TestRealSignalStillInterruptsWhileRecording(t *testing.T) {
	p := start(t, "target", "epoll", "-1")
	before := p.counts(t)
	type result struct {
		n   uint64
		err error
	}
	stop, sent := make(chan bool), make(chan result, 1)
	end := sync.OnceFunc(func() { close(stop) })
	defer end()
	go func() {
		var r result
		for r.err == nil {
			select {
			case <-stop:
				sent <- r
				return
			case <-time.After(100 * time.Millisecond):
				// A pending signal absorbs further ones, and one that finds the thread awake interrupts no call.
				var pending bool
				pending, r.err = isPending(p.pid, syscall.SIGUSR1)
				if r.err == nil && !pending && allIn(p.pid, "S") {
					if r.err = syscall.Kill(p.pid, syscall.SIGUSR1); r.err == nil {
						r.n++
					}
				}
			}
		}
		sent <- r
	}()
	file := filepath.Join(t.TempDir(), "stats.json")
	recorded(t, "-F", "97", "-d", "3", "-p", strconv.Itoa(p.pid), "--stats", file)
	stops := uint64(readStatistics(t, file).Stops)
	end()
	r := bounded.Receive(t, "no more signals are sent", sent)
	if r.err != nil || r.n == 0 {
		t.Fatalf("%d signals were sent: %v", r.n, r.err)
	}
	n, c := r.n, p.counts(t)
	testtargets.Eventually(t, "all signals are handled", func() bool { c = p.counts(t); return c.handled >= n })
	// One that comes while the thread is stopped interrupts no call either. More stops excuse no more than half of them.
	if c.handled != n || c.eintr-before.eintr+min(stops, n/2) < n {
		t.Errorf("%d signals were sent in %d stops, the program's counts are %+v, want all handled, and all with EINTR but "+
			"one in each stop, at least half", n, stops, c)
	}
}

func isPending(pid int, s syscall.Signal) (bool, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false, err
	}
	_, rest, _ := strings.Cut(string(text), "\nShdPnd:")
	var mask uint64
	if _, err := fmt.Sscanf(rest, "%x", &mask); err != nil {
		return false, fmt.Errorf("ShdPnd of %s: %w", text, err)
	}
	return mask>>(s-1)&1 != 0, nil
}

func TestStoppedProgramStaysStopped(t *testing.T) {
	p := start(t, "chain")
	syscall.Kill(p.pid, syscall.SIGSTOP)
	stopped := func() bool { return allIn(p.pid, "T") }
	testtargets.Eventually(t, "the program is stopped", stopped)
	for range 2 {
		for _, th := range dumpOf(t, p.pid).Threads {
			if !th.Complete || th.State != "T" {
				t.Errorf("want a complete stack in state T: %+v", th)
			}
		}
		testtargets.Eventually(t, "the program is stopped after a dump, too", stopped)
	}
	syscall.Kill(p.pid, syscall.SIGCONT)
}
