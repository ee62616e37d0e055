// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	rec "prywalk/internal/store/profile"
)

const (
	tick  = int64(time.Second) / 99
	burst = int64(time.Second) // a thread that runs does so for this long
	lines = 4096               // of the source file
)

// A size is a recording to make: threads of which on average so many run, each tick with one of so many stacks.
type size struct {
	name    string
	length  time.Duration
	threads int
	running float64
	stacks  int
}

var sizes = []size{
	{"hour", time.Hour, 100, 2, 5000},
	{"day", 24 * time.Hour, 10, 0.1, 5000},
	{"stacks", 30 * time.Minute, 100, 2, 120_000},
}

var program = &rec.ModuleInfo{Start: 0x400000, End: 0x40000000, Path: "/usr/bin/engine", BuildID: "aa11"}

type names struct{}

// Resolve names an address by its function, of 16 lines each.
func (names) Resolve(_ *rec.ModuleInfo, addr uint64) []rec.Frame {
	line := int(addr>>4) % lines
	return []rec.Frame{{Name: fmt.Sprintf("ns::Engine::step_%d(Context&, int)", addr>>8), File: "/src/engine.cc",
		Line: line + 1, StartLine: line&^15 + 1}}
}

// writeSource makes the file whose lines the stacks have.
func writeSource(dir string) error {
	text := strings.Repeat("    total += step(context, total);\n", lines)
	return os.WriteFile(filepath.Join(dir, "engine.cc"), []byte(text), 0o600)
}

type maker struct {
	*rec.Builder
	size
	rng   *rand.Rand
	start time.Time
	pool  []rec.Interval // with the stack alone
	ended []int64        // of each thread, ns since start
}

// write makes the recording; the same for the same size.
func (s size) write(file string) (intervals int64, err error) {
	start := time.Unix(1_700_000_000, 0)
	m := &maker{Builder: rec.NewBuilder(rec.Meta{Start: start, Period: time.Duration(tick), Main: program}), size: s,
		rng: rand.New(rand.NewPCG(1, 2)), start: start, ended: make([]int64, s.threads)}
	for range s.stacks {
		m.pool = append(m.pool, rec.Interval{Stack: m.Intern(m.stack())})
	}
	for from := int64(0); from < int64(s.length); from += burst {
		intervals += m.second(from)
	}
	for thread := range m.ended {
		m.sleep(thread, int64(s.length))
	}
	m.SetWindow(start, start.Add(s.length))
	f, err := os.Create(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return intervals, m.Write(f, names{})
}

// stack has 8 to 47 frames, with more ways further in.
func (m *maker) stack() []rec.Loc {
	depth := 8 + m.rng.IntN(40)
	st := make([]rec.Loc, depth)
	for d := range st {
		way := 1 + m.rng.IntN(1+m.rng.IntN(1+d/2))
		st[depth-1-d] = rec.Loc{Module: program, Addr: program.Start + uint64(d*64+way)<<4}
	}
	return st
}

// second lets some threads run, each for the whole of it, one tick an interval.
func (m *maker) second(from int64) (intervals int64) {
	n := int(m.running)
	if m.rng.Float64() < m.running-float64(n) {
		n++
	}
	for _, thread := range m.rng.Perm(m.threads)[:n] {
		m.sleep(thread, from)
		for at := from; at < from+burst; intervals++ {
			next := min(from+burst, at+tick-tick/10+m.rng.Int64N(tick/5))
			iv := m.pool[m.rng.IntN(len(m.pool))]
			iv.State, iv.Samples, iv.RunQueue = "running", 1, m.rng.Int64N(tick/10)
			m.put(iv, thread, at, next)
			at = next
		}
	}
	return intervals
}

func (m *maker) sleep(thread int, to int64) {
	from := m.ended[thread]
	if from == to {
		return
	}
	iv := m.pool[thread]
	iv.State, iv.Wait, iv.Samples = "sleeping", "futex", (to-from)/tick
	m.put(iv, thread, from, to)
}

func (m *maker) put(iv rec.Interval, thread int, from, to int64) {
	iv.PID, iv.TID, iv.Comm, iv.Thread = 100, 100+thread, "engine", fmt.Sprintf("pool-%d", thread)
	iv.End, iv.Wall = m.start.UnixNano()+to, to-from
	if iv.State == "running" {
		iv.RunQueue = min(iv.RunQueue, iv.Wall)
		iv.CPU = iv.Wall - iv.RunQueue
	}
	m.Add(iv)
	m.ended[thread] = to
}
