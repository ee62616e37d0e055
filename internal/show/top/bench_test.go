// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"testing"
	"time"

	"prywalk/internal/base/sample"
	"prywalk/internal/store/profile"
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
			f.store.Add(f.named(f.slept(tid+100, asleep, "futex", 500)))
			f.store.Add(f.named(f.ran(tid+100, asleep, 1)))
			since = 500
		}
		f.open = append(f.open, f.named(f.slept(tid+100, asleep, "futex", since)))
	}
	f.refresh()
}

func (f *fixture) named(iv profile.Interval) profile.Interval {
	if th, ok := f.store.threads[threadKey{pid: iv.PID, tid: iv.TID}]; ok {
		iv.Thread = th.name
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
