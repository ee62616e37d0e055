// SPDX-License-Identifier: Apache-2.0

package top

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"prywalk/internal/store/profile"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type source struct {
	*fixture
	state State
}

func (s *source) Snapshot(window time.Duration) *Snapshot {
	s.store.Snapshot(s.of, window)
	s.names.ResolveNow(s)
	return s.store.Snapshot(s.of, window)
}
func (s *source) State() State { return s.state }
func (s *source) Suspend()     {}
func display(t *testing.T, width, height int) (*Model, *source) {
	f := newFixture(t)
	f.busy(30)
	s := &source{fixture: f, state: State{Target: "app (pid 7)", Threads: 13, Complete: 0.9991}}
	m := NewModel(s, Options{Window: 10 * time.Second, Clock: CPU})
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	m.text()
	return m, s
}

func press(m *Model, keys ...string) (cmd tea.Cmd) {
	special := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "down": tea.KeyDown,
		"up":     tea.KeyUp,
		"pgdown": tea.KeyPgDown, "end": tea.KeyEnd, "home": tea.KeyHome, "backspace": tea.KeyBackspace}
	for _, k := range keys {
		msg := tea.KeyPressMsg{Text: k}
		if code, ok := special[k]; ok {
			msg = tea.KeyPressMsg{Code: code}
		} else {
			msg.Code = []rune(k)[0]
		}
		if k == "ctrl+c" {
			msg = tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}
		}
		if k == escTwice {
			msg = tea.KeyPressMsg{Code: tea.KeyEscape, Mod: tea.ModAlt}
		}
		if k == "space" {
			msg = tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
		}
		_, cmd = m.Update(msg)
		m.text()
	}
	return cmd
}

var screens = map[string][]string{
	"functions": nil, "threads": {"tab"}, "waits": {"tab", "tab"}, "stacks": {"down", "enter"},
	"thread": {"tab", "down", "enter"}, "blocked": {"c", "c"}, "filter": {"/", "p", "a", "r", "s", "e", "enter"},
}

func TestScreensAtTheUsualWidths(t *testing.T) {
	for name, keys := range screens {
		for _, width := range []int{60, 80, 120, 200} {
			height := 24
			if width == 60 {
				height = 12
			}
			m, _ := display(t, width, height)
			press(m, keys...)
			got := m.text() + "\n"
			path := filepath.Join("testdata", fmt.Sprintf("%s_%d.golden", name, width))
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s at %d columns:\n%s\nwant:\n%s", name, width, got, want)
			}
		}
	}
}

// wideNames adds threads, waits, functions and a module whose names have two cells a character.
func (s *source) wideNames() {
	const name = "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字"
	module := &profile.ModuleInfo{Start: 0x400000, End: 0x500000, Bias: 0x400000, Path: "/lib/" + name, File: 3}
	for tid := range 5 {
		outer := profile.Loc{Module: module, Addr: 0x400000}
		stack := s.builder.Intern([]profile.Loc{{Synthetic: fmt.Sprintf("[%d%s]", tid, name)}, outer})
		ran, slept := s.ran(200+tid, stack, 3000), s.slept(200+tid, stack, name, 3000)
		ran.Thread, slept.Thread = name, name
		s.add(ran)
		s.add(slept)
	}
	s.refresh()
}

func TestNothingIsWiderOrLongerThanTheTerminal(t *testing.T) {
	m, s := display(t, 80, 24)
	s.wideNames()
	m.Update(Refreshed{})
	for name, keys := range screens {
		press(m, "esc", "esc", "esc", "1")
		press(m, keys...)
		for width := 1; width < 220; width += 7 {
			for _, height := range []int{1, 3, 5, 6, 12, 50} {
				m.Update(tea.WindowSizeMsg{Width: width, Height: height})
				lines := strings.Split(m.text(), "\n")
				if len(lines) > height {
					t.Fatalf("%s at %dx%d: %d lines", name, width, height, len(lines))
				}
				for _, l := range lines {
					if n := ansi.StringWidth(l); n > width {
						t.Fatalf("%s at %dx%d: %d columns: %q", name, width, height, n, l)
					}
				}
			}
		}
		m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	}
}

func TestThereAreNoEscapeSequencesWithoutColours(t *testing.T) {
	m, _ := display(t, 80, 24)
	if strings.Contains(m.text(), "\x1b") {
		t.Errorf("%q", m.text())
	}
	m.screen.Color = true
	if !strings.Contains(m.text(), "\x1b[7m") {
		t.Error("the selected row is not marked")
	}
}

func TestTheSelectedRowIsMarkedWithoutColours(t *testing.T) {
	m, _ := display(t, 80, 24)
	for _, view := range []string{"functions", "stacks"} {
		for row := range m.page.rows {
			if text := m.text(); m.position.cursor != row || strings.Count(text, "\n>") != 1 {
				t.Errorf("%s, row %d: the cursor is at %d in\n%s", view, row, m.position.cursor, text)
			}
			press(m, "down")
		}
		press(m, "home", "enter")
	}
}

func TestHostileNamesAreMadePrintable(t *testing.T) {
	m, s := display(t, 80, 24)
	iv := s.ran(666, s.at("compress", "main"), 900)
	iv.Thread, iv.Wait = "a\x1b[2Jb", "c\x1b]0;d\a"
	s.add(iv)
	s.refresh()
	m.Update(Refreshed{})
	for _, view := range []string{"1", "2", "3"} {
		if press(m, view); strings.Contains(m.text(), "\x1b") {
			t.Errorf("view %s: %q", view, m.text())
		}
	}
}

func TestAPauseStopsTheDisplayAndNotTheSampling(t *testing.T) {
	m, s := display(t, 80, 24)
	press(m, "space")
	before := m.snapshot
	s.busy(5)
	m.Update(Refreshed{})
	press(m, "c", "c", "tab", "tab", "enter", "esc")
	if m.snapshot != before || !strings.Contains(m.text(), "PAUSED") {
		t.Errorf("the display goes on:\n%s", m.text())
	}
	press(m, "space")
	if got, want := m.snapshot.total().CPU, int64(10*788e6); got != want || m.snapshot == before {
		t.Errorf("after the pause: cpu %d, want %d", got, want)
	}
}

func TestKeys(t *testing.T) {
	m, _ := display(t, 80, 24)
	shows := func(what string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(m.text(), w) {
				t.Errorf("%s: no %q in\n%s", what, w, m.text())
			}
		}
	}
	shows("at first", "functions · 1 of", "last 10 s of 0:30")
	press(m, "c")
	shows("c", "function (runqueue)")
	press(m, "c", "c", "c", "down", "down", "enter")
	shows("enter", "stacks with parse_request", "▸ parse_request")
	press(m, "esc")
	shows("esc", "functions · 3 of")
	press(m, "tab", "enter")
	shows("a thread", "stacks of worker-101 (tid 101), innermost first", "compress")
	if strings.Contains(m.text(), "parse_request") {
		t.Errorf("of another thread:\n%s", m.text())
	}
	press(m, "esc", "tab")
	shows("waits", "futex", "epoll_wait", "waits · 1 of")
	press(m, "enter")
	shows("a wait", "stacks in futex, innermost first", "worker")
	press(m, "1", "/", "(", "enter")
	shows("half an expression", "not a regular expression")
	press(m, "backspace", "z", "z", "enter")
	shows("no match", "no match", "filter /zz/")
	press(m, "esc")
	shows("esc", "compress")
	if strings.Contains(m.text(), "filter") && strings.Contains(m.text(), "/zz/") {
		t.Errorf("the filter stays:\n%s", m.text())
	}
	press(m, "1", "/", "p", "a", "r", "s", "enter", "enter")
	shows("a function of the filter", "stacks with parse", "filter /pars/")
	press(m, escTwice)
	shows("two escapes at once", "functions · 1 of", "compress")
	for _, k := range []string{"q", "ctrl+c"} {
		if cmd := press(m, k); cmd == nil {
			t.Errorf("%s does not quit", k)
		}
	}
}

func TestTheSelectionStaysWithItsFunction(t *testing.T) {
	m, s := display(t, 80, 24)
	press(m, "down", "down")
	for range 12 {
		s.add(s.ran(102, s.at("parse_request", "serve", "main"), 900))
		s.refresh()
	}
	m.Update(Refreshed{})
	press(m, "enter")
	if !strings.Contains(m.text(), "stacks with parse_request") {
		t.Errorf("%s", m.text())
	}
}

func TestTextAndJSON(t *testing.T) {
	m, s := display(t, 80, 24)
	var text, line bytes.Buffer
	if err := WriteText(&text, m.snapshot, s.state, Screen{}, CPU, 3); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"app (pid 7)", "compress", "futex", "worker-101 (tid 101)"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %s in\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "std::map") || strings.Contains(text.String(), "\x1b") {
		t.Errorf("%s", text.String())
	}
	if err := WriteJSON(&line, m.snapshot, s.state, CPU, 0); err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(line.Bytes(), &v); err != nil || strings.Count(line.String(), "\n") != 1 {
		t.Errorf("%v in %s", err, line.String())
	}
	for _, field := range []string{"target", "time", "seconds", "since", "threads", "complete", "total", "functions",
		"by_thread", "by_wait"} {
		if v[field] == nil {
			t.Errorf("no %s in %s", field, line.String())
		}
	}
}

func TestWhyThereIsNothing(t *testing.T) {
	f := newFixture(t)
	s := &source{fixture: f, state: State{Target: "app (pid 7)", Complete: -1}}
	m := NewModel(s, Options{Clock: CPU})
	shows := func(want string) {
		t.Helper()
		if m.Update(Refreshed{}); !strings.Contains(m.text(), want) {
			t.Errorf("no %q in\n%s", want, m.text())
		}
	}
	shows("waiting for the first refresh")
	f.add(f.slept(101, f.at("epoll_wait", "main"), "epoll_wait", 900))
	f.refresh()
	shows("no cpu time in this window: the threads wait; 3 shows for what")
	var text strings.Builder
	if err := WriteText(&text, m.snapshot, s.state, Screen{}, CPU, 3); err != nil ||
		!strings.Contains(text.String(), "(cpu)      module\n  no cpu time in this window\n") {
		t.Errorf("%v\n%s", err, text.String())
	}
	s.state.Trouble = "another tracer (gdb) holds it"
	shows("another tracer (gdb) holds it")
	s.state.Trouble = "another tracer (a\x1b[2J\nb) holds it"
	shows(`  another tracer (a\x1b[2J b) holds it`)
	s.state.Trouble, s.state.Ended = "", true
	shows("the sampling has ended")
}

func TestWaitsCountGoroutines(t *testing.T) {
	f := newFixture(t)
	stack := f.at("worker", "main")
	for range 3 {
		iv := f.slept(0, stack, "sync.Mutex.Lock", 1000)
		iv.Task, iv.Thread = "goroutine", "main.work"
		f.add(iv)
	}
	sleeper := f.slept(101, stack, "futex", 1000)
	sleeper.WaitsFor = "semaphore 0x10 (threading.Lock)"
	f.add(sleeper)
	f.refresh()
	snap := f.snapshot(0)
	got := map[string]int{}
	rows := snap.groups(Wall, "wait")
	for _, r := range rows {
		got[r.name()] = int(r.count)
	}
	if want := map[string]int{"sync.Mutex.Lock": 3, "futex: threading.Lock in worker": 1}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	head, _ := Screen{}.groupLines(snap.by(Wall), rows, "wait")
	if !strings.Contains(head, " count ") {
		t.Error(head)
	}
}
