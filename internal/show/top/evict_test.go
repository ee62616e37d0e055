// SPDX-License-Identifier: Apache-2.0

package top

import (
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"prywalk/internal/store/profile"
)

func TestAnOpenThreadIsTheSameAfterEviction(t *testing.T) {
	f := newFixture(t)
	f.store.maxCells = 50
	for tid := range 40 {
		f.add(f.ran(1000+tid, f.at("checksum", "main"), 10))
	}
	compress, tick := f.at("compress", "main"), f.at("tick", "main")
	step := func() {
		f.add(f.ran(101, compress, 500))
		f.add(f.ran(102, tick, 100))
		f.refresh()
	}
	step()
	m := NewModel(&source{fixture: f, state: State{Target: "app (pid 7)"}}, Options{Window: 2 * time.Second, Clock: CPU})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	press(m, "2", "enter")
	is101 := func(when string) {
		t.Helper()
		text := m.text()
		if !strings.Contains(text, "stacks of worker-101 (tid 101)") || !strings.Contains(text, "compress") ||
			strings.Contains(text, "checksum") || strings.Contains(text, "tick") {
			t.Errorf("%s, want the stacks of thread 101 only:\n%s", when, text)
		}
	}
	is101("before")
	threads := len(f.store.threads)
	for range 100 {
		step()
	}
	for tid := range 20 {
		f.add(f.ran(2000+tid, f.at("serve", "main"), 10))
	}
	step()
	if len(f.store.threads) >= threads {
		t.Fatalf("%d threads, want fewer than %d after an eviction", len(f.store.threads), threads)
	}
	m.Update(Refreshed{})
	is101("after")
}

func TestOnlyStacksOfCellsAreKept(t *testing.T) {
	f := newFixture(t)
	f.builder = profile.NewBuilder(profile.Meta{Discard: true})
	f.names = profile.NewNames(f.builder, nil)
	f.of = NewFunctionTable(f.names)
	f.store.maxCells = 1000
	most, evictions := 0, 0
	serve := f.at("serve", "main")
	for s := range uint64(400) {
		f.add(f.ran(101, serve, 10))
		for i := range uint64(200) {
			f.add(f.ran(101, f.builder.Intern([]profile.Loc{{Addr: 1<<30 + 200*s + i}}), 10))
		}
		f.refresh()
		if stacks, ok := f.store.HeldStacks(); ok && f.builder.NeedsEviction() {
			f.builder.Evict(stacks)
			evictions++
		}
		most = max(most, f.builder.Sizes().Stacks)
	}
	if most > 50_000 || evictions < 2 {
		t.Errorf("up to %d stacks in %d evictions, of 80000", most, evictions)
	}
	rows := f.snapshot(0).functions()
	i := slices.IndexFunc(rows, func(r functionRow) bool { return r.Name == "serve" })
	if i < 0 || rows[i].Self.CPU != 400*10e6 {
		t.Errorf("serve has %+v", rows)
	}
}
