package sampler

import (
	"testing"
	"time"

	"prywalk/internal/code"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
	"prywalk/ptrace"
)

// onTicks calls f on a tracer's thread with a function that makes a tick over a
// target and throws away what it gives.
func onTicks(t testing.TB, rung look.Rung, f func(tick func(), c *tracer), args ...string) {
	t.Helper()
	r := start(t, args...)
	images := code.NewImageCache(0)
	defer images.Close()
	p, err := images.Open(r.pid)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Freq: 99, Rung: rung}, profile.NewBuilder(profile.Meta{Start: time.Now()}), images,
		[]*code.Process{p})
	defer s.Close()
	look.OnThread(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		defer ctl.Close()
		c := s.newTracer()
		c.looker = look.New(ctl, s.pool, rung)
		defer c.looker.Close()
		c.admit(<-s.arrive)
		defer func() { c.last(procmem.Now()) }() // no files stay open
		f(func() {
			now := procmem.Now()
			c.tick(now, now+5e6)
			for len(s.ring.full) > 0 {
				b := <-s.ring.full
				for i := range b {
					s.pool.Put(b[i].shot)
				}
				s.ring.put(b)
			}
		}, c)
	})
}

// TestTicksAllocateNothing: reuse, peeks and freezes, once threads and buffers are
// there.
func TestTicksAllocateNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		rung look.Rung
		args []string
	}{
		{"reuse", look.Ladder, []string{"sleepers", "50"}},
		{"peek", look.AlwaysPeek, []string{"sleepers", "50"}},
		{"freeze", look.Ladder, []string{"burners", "1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got float64
			onTicks(t, c.rung, func(tick func(), _ *tracer) {
				for range 20 {
					tick()
				}
				got = testing.AllocsPerRun(50, tick)
			}, c.args...)
			if got != 0 {
				t.Errorf("%v allocations a tick", got)
			}
		})
	}
}

func benchmarkTick(b *testing.B, rung look.Rung, args ...string) {
	onTicks(b, rung, func(tick func(), c *tracer) {
		for range 20 {
			tick()
		}
		before := c.counts.attempted
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			tick()
		}
		b.StopTimer()
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(c.counts.attempted-before, 1)), "ns/look")
	}, args...)
}

func BenchmarkTickReuse(b *testing.B)  { benchmarkTick(b, look.Ladder, "sleepers", "100") }
func BenchmarkTickPeek(b *testing.B)   { benchmarkTick(b, look.AlwaysPeek, "sleepers", "100") }
func BenchmarkTickFreeze(b *testing.B) { benchmarkTick(b, look.Ladder, "burners", "1") }
