// SPDX-License-Identifier: Apache-2.0

package top

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// TestAnOpenThreadIsTheSameAfterEviction: an eviction removes ended threads, and moves the others.
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
	m := NewModel(&source{fixture: f, state: State{Target: "app (pid 7)"}}, Options{Window: 2 * time.Second})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	press(m, "2", "enter")
	is101 := func(when string) {
		t.Helper()
		text := m.Text()
		if !strings.Contains(text, "functions of worker-101 (tid 101)") || !strings.Contains(text, "compress") ||
			strings.Contains(text, "checksum") || strings.Contains(text, "tick") {
			t.Errorf("%s, want the functions of thread 101 only:\n%s", when, text)
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
