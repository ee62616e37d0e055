// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"slices"
	"testing"
	"time"

	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets/bounded"
)

func BenchmarkStop(b *testing.B) { benchmarkStop(b) }

func BenchmarkStopWhileCollecting(b *testing.B) {
	stop, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		var keep [1024]*[4096]byte
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				keep[i%len(keep)] = new([4096]byte)
			}
		}
	}()
	benchmarkStop(b)
	close(stop)
	bounded.Receive(b, "the other stops end", done)
}

func benchmarkStop(b *testing.B) {
	p := start(b, "spin")
	files := procmem.OpenThread(p.PID, p.tid, procmem.NewFDBudget(64))
	defer files.Close()
	files.SchedStat()
	with(b, Options{}, func(c *Controller) {
		req := Request{Stack: make([]byte, 16<<10), Files: files}
		pauses, held := make([]time.Duration, 0, b.N), make([]time.Duration, 0, b.N)
		var s Stop
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			if err := c.StopThread(p.tid, soon(), &req, &s); err != nil {
				b.Error(err)
				return
			}
			pauses = append(pauses, s.Times.DetachedAt.Sub(s.Times.InterruptedAt))
			held = append(held, s.Times.DetachedAt.Sub(s.Times.StoppedAt))
		}
		b.StopTimer()
		report(b, "pause", pauses)
		report(b, "held", held)
	})
}

func report(b *testing.B, what string, ns []time.Duration) {
	slices.Sort(ns)
	b.ReportMetric(float64(ns[len(ns)/2])/1e3, what+"-p50-µs")
	b.ReportMetric(float64(ns[len(ns)*99/100])/1e3, what+"-p99-µs")
	b.ReportMetric(float64(ns[len(ns)-1])/1e3, what+"-max-µs")
}

func TestStopAllocatesNothing(t *testing.T) {
	p := start(t, "spin")
	files := procmem.OpenThread(p.PID, p.tid, procmem.NewFDBudget(64))
	defer files.Close()
	files.SchedStat()
	with(t, Options{}, func(c *Controller) {
		req := Request{Stack: make([]byte, 16<<10), Files: files}
		var s Stop
		if n := testing.AllocsPerRun(200, func() {
			l, err := c.Begin(p.tid)
			if err != nil {
				t.Error(err)
				return
			}
			for c.WaitAny(soon()) == nil {
			}
			c.Finish(l, &req, &s)
		}); n != 0 {
			t.Errorf("%v allocations per stop, want 0", n)
		}
	})
}
