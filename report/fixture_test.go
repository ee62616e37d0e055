// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/store/profile"
)

// A small server: names by address.
var (
	app  = &rec.ModuleInfo{Start: 0x400000, End: 0x500000, Bias: 0x400000, Path: "/usr/bin/kvd", BuildID: "aa11"}
	libc = &rec.ModuleInfo{Start: 0x7f0000000000, End: 0x7f0000200000, FileOffset: 0x26000, Bias: 0x7f0000000000 - 0x26000,
		Path: "/usr/lib/libc.so.6", BuildID: "bb22"}
	blob = &rec.ModuleInfo{Start: 0x7f1000000000, End: 0x7f1000001000, FileOffset: 0x2000, Bias: 0x7f1000000000,
		Path: "/opt/libblob.so", BuildID: "cc33"}
)

type nameTable map[string]map[uint64][]rec.Frame

func (n nameTable) Resolve(m *rec.ModuleInfo, addr uint64) []rec.Frame { return n[m.Path][addr] }

func fn(name, file string, line int) []rec.Frame {
	f := rec.Frame{Name: name, File: file, StartLine: line}
	if line > 0 {
		f.Line = line + 3
	}
	return []rec.Frame{f}
}

var fixtureNames = nameTable{
	app.Path: {
		0x10: fn("main", "/src/kvd.c", 10), 0x20: fn("serve", "/src/net.c", 20),
		0x30: {{Name: "hash(std::string_view)", File: "/src/hash.hpp", Line: 5, StartLine: 2, Inlined: true},
			{Name: "lookup", File: "/src/table.cc", Line: 77, StartLine: 60}},
		0x40: fn("compress", "/src/pack.c", 40), 0x50: fn("worker", "/src/pool.c", 50),
		0x60: fn("walk", "/src/tree.c", 60), 0x70: fn("visit", "/src/tree.c", 90),
		0x80: fn(`evil</script><b onclick="x">&;name`, "/src/evil.c", 1),
	},
	libc.Path: {
		0x26010: fn("epoll_wait", "", 0), 0x26020: fn("pthread_cond_wait", "", 0), 0x26030: fn("clone3", "", 0),
		0x26040: fn("__libc_start_main", "", 0),
	},
}

func at(m *rec.ModuleInfo, offsets ...uint64) (s []rec.Loc) {
	for _, o := range offsets {
		s = append(s, rec.Loc{Module: m, Addr: m.Start + o})
	}
	return s
}

func join(parts ...[]rec.Loc) (s []rec.Loc) {
	for _, p := range parts {
		s = append(s, p...)
	}
	return s
}

type fixtureStack struct {
	stack           []rec.Loc
	thread          string
	tid             int
	state, wait     string
	samples         int64
	wall, queue, ms int64
}

func fixtureStacks() []fixtureStack {
	root := at(libc, 0x40)
	clone := at(libc, 0x30)
	worker := join(at(app, 0x50), clone)
	return []fixtureStack{
		{join(at(app, 0x30, 0x20, 0x10), root), "kvd", 100, "running", "", 30, 310, 10, 300},
		{join(at(libc, 0x10), at(app, 0x20, 0x10), root), "kvd", 100, "sleeping", "epoll_wait", 69, 690, 0, 0},
		{join(at(app, 0x40), worker), "worker-1", 101, "running", "", 50, 520, 20, 500},
		{join(at(libc, 0x20), worker), "worker-1", 101, "sleeping", "futex", 48, 480, 0, 0},
		{join(at(app, 0x70, 0x60, 0x60, 0x60), worker), "worker-2", 102, "running", "", 15, 150, 5, 145},
		{join(at(app, 0x60, 0x60), worker), "worker-2", 102, "running", "", 2, 20, 0, 20},
		{join(at(blob, 0x123), at(app, 0x50), []rec.Loc{{Synthetic: "[incomplete: no-rule]"}}), "worker-2", 102, "running",
			"", 2, 25, 5, 20},
		{join(at(app, 0x80), worker), "worker-2", 102, "running", "", 1, 10, 0, 10},
		{[]rec.Loc{{Synthetic: "[exited unseen]"}}, "", 0, "running", "", 0, 0, 0, 5},
	}
}

func fixtureBuilder() *rec.Builder {
	b := rec.NewBuilder(rec.Meta{Start: time.Unix(1_700_000_000, 0), Period: 10 * time.Millisecond, Main: app})
	for i, f := range fixtureStacks() {
		b.Add(rec.Interval{Stack: b.Intern(f.stack), PID: 100, TID: f.tid, Comm: "kvd", Thread: f.thread, State: f.state,
			Wait: f.wait,
			End:  1_700_000_000e9 + int64(i)*1e9, Samples: f.samples, Wall: f.wall * 1e6, RunQueue: f.queue * 1e6,
			CPU: f.ms * 1e6})
	}
	b.SetWindow(time.Unix(1_700_000_000, 0), time.Unix(1_700_000_001, 0))
	b.Update(func(m *rec.Meta) {
		m.Comments = []string{"attempted 217 = stopped 100 + read passively 17 + unchanged 100"}
	})
	return b
}

func parsed(tb testing.TB, b *rec.Builder, names rec.Resolver) *profile.Profile {
	tb.Helper()
	var buf bytes.Buffer
	if err := b.Write(&buf, names); err != nil {
		tb.Fatal(err)
	}
	p, err := rec.Read(&buf)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func fixture(tb testing.TB) *profile.Profile { return parsed(tb, fixtureBuilder(), fixtureNames) }

type manyNames struct{}

func (n manyNames) Resolve(m *rec.ModuleInfo, addr uint64) []rec.Frame {
	return []rec.Frame{{Name: fmt.Sprintf("ns::Engine::step_%d(Context&, int)", addr>>4), File: "/src/engine.cc",
		Line: int(addr & 15), StartLine: 1}}
}

func large(tb testing.TB, stacks, threads int) *profile.Profile {
	r := rand.New(rand.NewPCG(1, 2))
	b := rec.NewBuilder(rec.Meta{Start: time.Unix(1_700_000_000, 0), Period: 1e7, Main: app})
	for i := range stacks {
		depth := 8 + r.IntN(40)
		st := make([]rec.Loc, depth)
		for d := range st {
			fanout := 1 + r.IntN(1+r.IntN(1+(depth-d)/2))
			st[depth-1-d] = rec.Loc{Module: app, Addr: app.Start + uint64(d*64+fanout)<<4}
		}
		tid := 100 + i%threads
		b.Add(rec.Interval{Stack: b.Intern(st), PID: 100, TID: tid, Comm: "engine", Thread: fmt.Sprintf("pool-%d", tid%17),
			State: "running",
			End:   int64(i), Samples: 1, Wall: 1.1e7, RunQueue: 1e6, CPU: 1e7})
	}
	return parsed(tb, b, manyNames{})
}

// The fixture was recorded three minutes ago.
func init() { now = func() time.Time { return time.Unix(1_700_000_000+180, 0) } }
