// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"prywalk/internal/profile"
	"prywalk/internal/sample"
)

func crowd(b testing.TB, threads int) (*fixture, sample.StackID) {
	f := newFixture(b)
	asleep := f.at("__futex_abstimed_wait_common64", "pthread_cond_wait", "worker", "tick", "serve", "main")
	for range 80 {
		f.wakeSome(asleep, threads)
	}
	f.snapshot(10 * time.Second)
	return f, asleep
}

func (f *fixture) wakeSome(asleep sample.StackID, threads int) {
	slept := 1000 + f.now.Sub(f.begin).Milliseconds()
	f.open = f.open[:0]
	for tid := range threads {
		since := slept
		if tid%10 == 0 {
			f.store.Add(f.named(tid, f.slept(tid+100, asleep, "futex", 500)))
			f.store.Add(f.named(tid, f.ran(tid+100, asleep, 1)))
			since = 500
		}
		f.open = append(f.open, f.named(tid, f.slept(tid+100, asleep, "futex", since)))
	}
	f.refresh()
}

func (f *fixture) named(tid int, iv profile.Interval) profile.Interval {
	if tid < len(f.store.threads) {
		iv.Thread = f.store.threads[tid].name
	}
	return iv
}

func BenchmarkRefresh(b *testing.B) {
	for _, threads := range []int{10, 500, 5000} {
		f, asleep := crowd(b, threads)
		b.Run(fmt.Sprintf("store/%d", threads), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.wakeSome(asleep, threads)
			}
		})
		for _, v := range []tableView{functionsView, threadsView} {
			b.Run(fmt.Sprintf("%s/%d", viewNames[v], threads), func(b *testing.B) {
				m := f.display(v)
				b.ReportAllocs()
				for b.Loop() {
					f.displayed(m)
				}
			})
		}
	}
}

func (f *fixture) display(v tableView) *Model {
	m := NewModel(&source{fixture: f, state: State{Target: "app (pid 7)", Complete: 1}},
		Options{Window: 10 * time.Second, Clock: CPU})
	m.view = v
	return m
}

func (f *fixture) displayed(m *Model) {
	m.Update(Refreshed{})
	m.text()
}

// The conclusion's maps have another seed after each refresh, and may grow by it.
func TestARefreshLeavesLittleGarbage(t *testing.T) {
	const few, many, most = 50, 5000, 192 << 10
	for _, v := range []tableView{functionsView, threadsView, waitsView} {
		var bytes [2]uint64
		for i, threads := range []int{few, many} {
			f, _ := crowd(t, threads)
			m := f.display(v)
			f.displayed(m)
			f.displayed(m)
			bytes[i] = allocated(func() { f.displayed(m) })
		}
		if bytes[1] > bytes[0]+most {
			t.Errorf("%s: %d bytes with %d threads, %d with %d", viewNames[v], bytes[1], many, bytes[0], few)
		}
	}
	f, asleep := crowd(t, many)
	f.wakeSome(asleep, many)
	f.wakeSome(asleep, many)
	store := allocated(func() { f.store.Refresh(f.now.Add(time.Second).UnixNano(), f.goesOn()) })
	if store > most {
		t.Errorf("the store: %d bytes", store)
	}
}

func allocated(f func()) uint64 {
	least := ^uint64(0)
	var before, after runtime.MemStats
	for range 5 {
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}
