// SPDX-License-Identifier: Apache-2.0

package top

import (
	"bytes"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"prywalk/internal/base/sample"
	"prywalk/internal/store/profile"
)

// shop is a program in Python: load calls sqlite3, handle calls json, and a part is in none of its functions.
func shop(t *testing.T, outside int64) (*Model, *source) {
	f := newFixture(t)
	python := &profile.ModuleInfo{Start: 0x400000, End: 0x500000, Bias: 0x400000, Path: "[CPython 3.11.2]", File: 4}
	sqlite := &profile.ModuleInfo{Start: 0x600000, End: 0x700000, Bias: 0x600000, Path: "/lib/libsqlite3.so.0", File: 5}
	scripts := []profile.Frame{{Name: "main", File: "/srv/shop.py"}, {Name: "handle", File: "/srv/shop.py"},
		{Name: "load", File: "/srv/shop.py"}, {Name: "encode", File: "/usr/lib/python3.11/json/encoder.py"}}
	f.resolve = func(m *profile.ModuleInfo, addr uint64) []profile.Frame {
		switch m {
		case python:
			return scripts[addr>>4 : addr>>4+1]
		case sqlite:
			return []profile.Frame{{Name: "sqlite3VdbeExec"}}
		}
		return []profile.Frame{{Name: "collect"}}
	}
	stack := func(library *profile.ModuleInfo, inner ...uint64) sample.StackID {
		var locs []profile.Loc
		if library != nil {
			locs = append(locs, profile.Loc{Module: library, Addr: library.Start})
		}
		for _, n := range inner {
			locs = append(locs, profile.Loc{Module: python, Addr: python.Start + n<<4})
		}
		return f.builder.Intern(locs)
	}
	for range 10 {
		f.add(f.ran(101, stack(sqlite, 2, 1, 0), 560))
		f.add(f.ran(101, stack(nil, 3, 1, 0), 300))
		f.add(f.ran(101, stack(nil, 1, 0), 100))
		f.add(f.ran(101, stack(f.app), outside))
		f.refresh()
	}
	s := &source{fixture: f, state: State{Target: "app (pid 7)", Threads: 1, Complete: 1}}
	m := NewModel(s, Options{Window: 10 * time.Second, Clock: CPU})
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 16})
	m.text()
	return m, s
}

func TestAProgramsOwnFunctionsComeFirst(t *testing.T) {
	m, _ := shop(t, 40)
	const own = `  self%    self  total%   total  function (cpu)      module
>  0%        0s   96.0%   9.60s  main                shop.py
  10.0%   1.00s   96.0%   9.60s  handle              shop.py  …in json (30%)
   0%        0s   56%      5.6s  load                shop.py  …in sqlite3 (56%)
`
	rows := func() (out string) {
		for _, line := range strings.Split(m.text(), "\n") {
			if strings.Contains(line, "self%") || strings.Contains(line, "  shop.py") || strings.Contains(line, "sqlite3.so") {
				out += strings.TrimRight(line, " ") + "\n"
			}
		}
		return out
	}
	if got := rows(); got != own {
		t.Errorf("got:\n%s\nwant:\n%s", got, own)
	}
	if !strings.Contains(m.text(), "own functions, a shows all") {
		t.Errorf("the screen does not say how to see all:\n%s", m.text())
	}
	press(m, "a")
	if got := m.text(); !strings.Contains(got, "sqlite3VdbeExec") || strings.Contains(got, "…in") {
		t.Errorf("all functions:\n%s", got)
	}
	press(m, "a")
	if got := rows(); got != own {
		t.Errorf("own functions again:\n%s", got)
	}
	press(m, "/", "V", "d", "b", "e", "enter")
	if got := m.text(); !strings.Contains(got, "sqlite3VdbeExec") {
		t.Errorf("a filter finds no function of a library:\n%s", got)
	}
}

func TestAllFunctionsAreShownIfTooMuchIsOutsideOfTheProgram(t *testing.T) {
	m, _ := shop(t, 900)
	if got := m.text(); !strings.Contains(got, "sqlite3VdbeExec") || strings.Contains(got, "shows") {
		t.Error(got)
	}
}

func TestPlainTextHasTheProgramsOwnFunctions(t *testing.T) {
	m, s := shop(t, 40)
	var b bytes.Buffer
	if err := WriteText(&b, m.snapshot, s.state, Screen{}, CPU, 2); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, "…in json (30%)\n… the program's own functions only; --json has all") ||
		strings.Contains(got, "load    ") {
		t.Error(got)
	}
}
