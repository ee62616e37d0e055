// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"prywalk/internal/base/sample"
	"prywalk/internal/store/profile"
)

type fixture struct {
	t       testing.TB
	begin   time.Time
	now     time.Time
	builder *profile.Builder
	store   *Store
	names   *profile.Names
	of      *FunctionTable
	app     *profile.ModuleInfo
	libc    *profile.ModuleInfo
	open    []profile.Interval
	onNames func()
	resolve func(m *profile.ModuleInfo, addr uint64) []profile.Frame
}

var begun = time.Unix(1_800_000_000, 0)

func newFixture(t testing.TB) *fixture {
	f := &fixture{t: t, begin: begun, now: begun,
		builder: profile.NewBuilder(profile.Meta{Start: begun, Period: 10 * time.Millisecond}),
		app:     &profile.ModuleInfo{Start: 0x1000, End: 0x100000, Bias: 0x1000, Path: "/usr/bin/app", File: 1},
		libc:    &profile.ModuleInfo{Start: 0x200000, End: 0x300000, Bias: 0x200000, Path: "/lib/libc.so.6", File: 2},
	}
	f.onNames = func() {}
	f.store = NewStore(begun, func() {})
	f.names = profile.NewNames(f.builder, func() { f.onNames() })
	f.of = NewFunctionTable(f.names)
	f.resolve = func(m *profile.ModuleInfo, addr uint64) []profile.Frame {
		return []profile.Frame{{Name: functionNames[(addr>>4)%uint64(len(functionNames))]}}
	}
	return f
}

var functionNames = []string{
	"main", "serve", "parse_request", "std::map<std::string, std::vector<int> >::operator[](std::string const&)",
	"compress", "checksum", "worker", "__futex_abstimed_wait_common64", "pthread_cond_wait", "epoll_wait",
	"void org::example::db::Engine<Row, Key>::step(Context&, int) const", "tick",
}

func (f *fixture) Resolve(m *profile.ModuleInfo, addr uint64) []profile.Frame {
	return f.resolve(m, addr)
}

func (f *fixture) at(functions ...string) sample.StackID {
	var locs []profile.Loc
	for _, name := range functions {
		if strings.HasPrefix(name, "[") {
			locs = append(locs, profile.Loc{Synthetic: name})
			continue
		}
		i := slices.Index(functionNames, name)
		if i < 0 {
			f.t.Fatalf("no function %s", name)
		}
		m := f.app
		if i >= 7 && i <= 9 {
			m = f.libc
		}
		locs = append(locs, profile.Loc{Module: m, Addr: m.Start + uint64(i)<<4})
	}
	return f.builder.Intern(locs)
}

func (f *fixture) add(iv profile.Interval) {
	iv.End = f.now.UnixNano()
	f.builder.Add(iv)
	f.store.Add(iv)
}

func (f *fixture) ran(tid int, stack sample.StackID, ms int64) profile.Interval {
	return profile.Interval{Stack: stack, PID: 7, TID: tid, Comm: "app", Thread: fmt.Sprintf("worker-%d", tid),
		State:   "running",
		Samples: max(1, ms/10), CPU: ms * 1e6, RunQueue: ms * 1e5, Wall: ms*1e6 + ms*1e5}
}

func (f *fixture) slept(tid int, stack sample.StackID, wait string, ms int64) profile.Interval {
	return profile.Interval{Stack: stack, PID: 7, TID: tid, Comm: "app", Thread: fmt.Sprintf("worker-%d", tid),
		State: "sleeping", Wait: wait,
		Samples: max(1, ms/10), Wall: ms * 1e6}
}

func (f *fixture) refresh() {
	f.now = f.now.Add(time.Second)
	f.store.Refresh(f.now.UnixNano(), f.goesOn())
}

func (f *fixture) goesOn() iter.Seq[profile.Interval] { return slices.Values(f.open) }

func (f *fixture) snapshot(window time.Duration) *Snapshot {
	f.store.Snapshot(f.of, window)
	f.names.ResolveNow(f)
	return f.store.Snapshot(f.of, window)
}

func (f *fixture) busy(seconds int) {
	asleep := f.at("__futex_abstimed_wait_common64", "pthread_cond_wait", "worker", "main")
	polls := f.at("epoll_wait", "serve", "main")
	for s := range seconds {
		f.add(f.ran(101, f.at("compress", "serve", "main"), 310))
		f.add(f.ran(101, f.at("checksum", "compress", "serve", "main"), 240))
		f.add(f.ran(102, f.at("parse_request", "serve", "main"), 105))
		f.add(f.ran(102, f.at("std::map<std::string, std::vector<int> >::operator[](std::string const&)", "parse_request",
			"serve", "main"), 95))
		f.add(f.ran(103, f.at("void org::example::db::Engine<Row, Key>::step(Context&, int) const", "worker", "main"), 35))
		f.add(f.ran(103, f.at("[ran between ticks]", "tick", "main"), 3))
		f.add(f.slept(102, polls, "epoll_wait", 780))
		f.open = nil
		for tid := 110; tid < 120; tid++ {
			f.open = append(f.open, f.slept(tid, asleep, "futex", int64(1000*(s+1))))
		}
		f.refresh()
	}
}

func (f *fixture) random(r *rand.Rand, seconds int) {
	waits := []string{"futex", "epoll_wait", ""}
	stack := func() sample.StackID {
		var names []string
		for range 1 + r.IntN(5) {
			names = append(names, functionNames[r.IntN(len(functionNames))])
		}
		return f.at(names...)
	}
	for range seconds {
		for _, iv := range f.open {
			iv.Wall += r.Int64N(1e6)
			f.add(iv)
		}
		for range r.IntN(30) {
			if r.IntN(2) == 0 {
				f.add(f.ran(100+r.IntN(9), stack(), r.Int64N(50)))
			} else {
				f.add(f.slept(100+r.IntN(9), stack(), waits[r.IntN(3)], r.Int64N(500)))
			}
		}
		f.open = nil
		for range r.IntN(5) {
			f.open = append(f.open, f.slept(100+r.IntN(9), stack(), waits[r.IntN(3)], r.Int64N(500)))
		}
		f.refresh()
	}
	for _, iv := range f.open {
		f.add(iv)
	}
	f.open = nil
	f.store.Finish(f.now)
}
