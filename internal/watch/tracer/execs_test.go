// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/account/attribute"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

func execEvents(t *testing.T, execs int, args ...string) (pid int, events []target.Event) {
	t.Helper()
	exe, err := testtargets.Compile("execs.c", "-O1", "-g0")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	says := testtargets.Ready(t, cmd)
	pid = cmd.Process.Pid
	onTicksOver(t, target.SamplingOptions{Freq: 99}, pid, func(_ func(), c *Tracer) {
		tick := func() {
			now := ptrace.Now()
			c.tick(now, now.Add(5e6))
			for len(c.shared.Queue.Batches()) > 0 {
				b := <-c.shared.Queue.Batches()
				events = append(events, b...)
				for i := range b {
					c.shared.Pool.Put(b[i].RawSample)
				}
				c.shared.Queue.Put(b)
			}
		}
		count := func(which func(target.Event) bool) (n int) {
			for _, e := range events {
				if which(e) {
					n++
				}
			}
			return n
		}
		isSample := func(e target.Event) bool { return e.IsSample() }
		isExec := func(e target.Event) bool { _, ok := e.What.(*target.Execed); return ok }
		signalOnce := func(what string, cond func() bool) {
			testtargets.Eventually(t, what, func() bool { tick(); return cond() })
			if err := unix.Kill(pid, unix.SIGUSR1); err != nil {
				t.Error(err)
			}
		}
		signalOnce("the first thread is sampled", func() bool { return count(isSample) > 0 })
		if args[0] == "told" { // the one with most CPU time is taken for the caller
			signalOnce("the second thread is known to have computed", func() bool {
				all := c.tracked.procs[0].Threads.All()
				return len(all) == 2 && all[1].AccountedClocks.CPU > all[0].AccountedClocks.CPU
			})
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if line, err := says.ReadString('\n'); line != "done\n" {
				t.Errorf("the target says %q (%v), want done", line, err)
			}
		}()
		for over := false; !over; tick() {
			procmem.SleepUntil(int64(ptrace.Now().Add(5e6)))
			select {
			case <-done:
				over = true
			default:
			}
		}
		testtargets.Eventually(t, "the execs are reported", func() bool { tick(); return count(isExec) >= execs })
		for range 3 {
			tick()
		}
	})
	return pid, events
}

func TestAnExecIsReportedOnceWithTheThreadThatCalledIt(t *testing.T) {
	for _, c := range []struct {
		name  string
		args  []string
		execs int
		other bool
	}{
		{"by the first thread", []string{"first", "100", "0", "50", "1"}, 1, false},
		{"by the second", []string{"told", "0", "100", "50", "1"}, 1, true},
		{"by children after vfork", []string{"vfork", "50", "20", "50", "5"}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			pid, events := execEvents(t, c.execs, c.args...)
			var execs []*target.Execed
			var first sample.ThreadID
			tids, ends := map[sample.ThreadID]int{}, map[sample.ThreadID]int{}
			for _, e := range events {
				if e.Thread != nil {
					tids[e.Thread.ID] = e.Thread.TID
				}
				switch what := e.What.(type) {
				case *target.Execed:
					execs = append(execs, what)
				case *attribute.ThreadEnded:
					ends[what.Thread]++
				case nil:
					if e.IsSample() && first == 0 && e.Thread.TID == pid {
						first = e.Thread.ID
					}
				}
			}
			if len(execs) != c.execs {
				t.Fatalf("%d execs are reported, want %d", len(execs), c.execs)
			}
			for _, e := range execs {
				switch {
				case tids[e.Thread] != pid || (e.Caller != e.Thread) != c.other:
					t.Errorf("exec of %d by %d; by another thread: %v", tids[e.Thread], tids[e.Caller], c.other)
				case c.other &&
					(e.Thread == first || tids[e.Caller] == pid || ends[e.Caller] != 0 || ends[first] != 1):
					t.Errorf("the caller has ended %d times, the first thread before %d times; want 0 and 1",
						ends[e.Caller], ends[first])
				case !c.other && (e.Thread != first || ends[first] != 0):
					t.Errorf("the first thread, which called exec, has ended %d times; want 0", ends[first])
				}
			}
		})
	}
}

// The first thread listed alone after another may be the one that has called exec.
func TestSampleByAStopIsOfTheTrackedThread(t *testing.T) {
	pid, _ := testtargets.Threads(t, "main")
	onTicksOver(t, target.SamplingOptions{Freq: 99}, pid, func(tick func(), c *Tracer) {
		tick()
		p := c.tracked.procs[0]
		first := p.FirstThread()
		other := &target.Thread{TID: -1}
		p.Threads.Add(other)
		for _, ended := range []bool{false, true} {
			if ended {
				if err := unix.Kill(pid, unix.SIGKILL); err != nil {
					t.Error(err)
				}
				testtargets.Eventually(t, "the address space has ended", p.Code.Memory().Ended)
			}
			s := c.shared.Pool.Get()
			s.How, s.Sched = observe.ByStop, first.AccountedClocks
			s.Sched.CPU += 1e6
			before := c.counts.leftToLaterTick
			c.results.takeSample(first, s)
			if postponed := c.counts.leftToLaterTick > before; postponed != ended {
				t.Errorf("the address space has ended: %v; the sample is postponed: %v", ended, postponed)
			}
		}
		p.Threads.Remove(other)
		other.Gone = true
		p.Threads.FinishListing()
	})
}
