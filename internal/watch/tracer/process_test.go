// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/account/attribute"
	"prywalk/internal/account/runstats"
	"prywalk/internal/base/errs"
	"prywalk/internal/base/sample"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

func TestProcessThatEndedBeforeItIsAttachedIsReported(t *testing.T) {
	pid, _ := testtargets.Threads(t, "sleepers", "1")
	p, c := opened(t, pid), newTracer(target.SamplingOptions{Freq: 99})
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Wait4(pid, nil, 0, nil); err != nil {
		t.Fatal(err)
	}
	c.tracked.trackProcess(p)
	c.shared.Out.HandOver(0)
	b := bounded.Receive(t, "the end of the process", c.shared.Queue.Batches())
	if _, ended := b[0].What.(*attribute.ProcessEnded); len(c.tracked.procs) != 0 || len(b) != 1 || !ended {
		t.Errorf("%d are tracked, and reported is %v", len(c.tracked.procs), b)
	}
}

// Threads end while the clocks are read: no pass over them is complete.
func TestAThreadWhoseClockIsNotReadDoesNotBegin(t *testing.T) {
	pid, _ := testtargets.Threads(t, "sleepers", "3")
	c := newTracer(target.SamplingOptions{Freq: 99})
	c.tracked.trackProcess(opened(t, pid))
	p := c.tracked.procs[0]
	c.listings.refresh(p, ptrace.Now())
	began := func() (n int) {
		c.shared.Out.HandOver(0)
		for len(c.shared.Queue.Batches()) > 0 {
			for _, e := range <-c.shared.Queue.Batches() {
				started, ok := e.What.(*attribute.ThreadStarted)
				if !ok {
					continue
				}
				n++
				if started.Now.Wall == 0 {
					t.Errorf("thread %d begins without a reading", e.Thread.TID)
				}
			}
		}
		return n
	}
	if n := began(); n != len(p.Threads.All()) || n < 4 {
		t.Fatalf("%d of %d threads begin", n, len(p.Threads.All()))
	}
	for _, th := range p.Threads.All() {
		th.End.AtStart = sample.Reading{}
	}
	p.TaskDir.Close()
	c.endedThreads.readAtStart(p, ptrace.Now())
	if n := began(); n != 0 || p.EndedReport.Known {
		t.Errorf("%d threads begin, and what ended ones used is known: %v", n, p.EndedReport.Known)
	}
}

func TestThreadsNotFoundForLackOfDescriptorsAreFailures(t *testing.T) {
	pid, _ := testtargets.Threads(t, "sleepers", "3")
	c := newTracer(target.SamplingOptions{Freq: 99})
	c.tracked.trackProcess(opened(t, pid))
	p := c.tracked.procs[0]
	testtargets.WithoutDescriptors(t, func() { c.listings.refresh(p, ptrace.Now()) })
	var stats runstats.Stats
	c.counts.stats(&stats)
	if n := int64(p.Threads.Listed()); n < 4 || stats.Attempted != n || stats.Failed[errs.NoFiles.Word()] != n {
		t.Errorf("%d threads are listed, %d attempted, failed: %v; want all", n, stats.Attempted, stats.Failed)
	}
}
