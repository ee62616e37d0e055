package top

import (
	"fmt"
	"testing"
	"time"

	"prywalk/internal/profile"
)

// crowd is a program of so many threads that sleep, each tenth of which has woken up since the last refresh.
func crowd(b testing.TB, threads int) *fixture {
	f := newFixture(b)
	asleep := f.at("__futex_abstimed_wait_common64", "pthread_cond_wait", "worker", "tick", "serve", "main")
	for range leastSlices + 40 {
		f.wakeSome(asleep, threads)
	}
	f.snapshot(10*time.Second, CPU)
	return f
}

func (f *fixture) wakeSome(asleep profile.StackID, threads int) {
	f.open = f.open[:0]
	for tid := range threads {
		if tid%10 == 0 {
			f.store.Add(f.slept(tid+100, asleep, "futex", 500))
			f.store.Add(f.ran(tid+100, asleep, 1))
		}
		f.open = append(f.open, f.slept(tid+100, asleep, "futex", 1000))
	}
	f.refresh()
}

// BenchmarkRefresh is what a refresh takes in all: the store's, on the accountant's goroutine, and the display's.
func BenchmarkRefresh(b *testing.B) {
	for _, threads := range []int{10, 500, 5000} {
		f := crowd(b, threads)
		b.Run(fmt.Sprintf("store/%d", threads), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.refresh()
			}
		})
		m := NewModel(&source{fixture: f, state: State{Target: "app (pid 7)", Complete: 1}}, Options{Window: 10 * time.Second})
		b.Run(fmt.Sprintf("display/%d", threads), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.store.slices[len(f.store.slices)-1].shares = nil // a new slice has none
				m.Update(Refreshed{})
				m.Text()
			}
		})
	}
}
