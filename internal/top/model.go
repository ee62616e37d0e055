// SPDX-License-Identifier: Apache-2.0

package top

import (
	"regexp"
	"time"

	tea "charm.land/bubbletea/v2"
)

// view is one of the tables.
type view int

const (
	functionsView view = iota
	threadsView
	waitsView
	views
)

var viewNames = [views]string{"functions", "threads", "waits"}

// windows are the parts of the time that a table can be of, 0 for all.
var windows = []time.Duration{2 * time.Second, 10 * time.Second, keepFor, 0}

// Source is where a display has its data from. Its methods are called by one goroutine at a time.
type Source interface {
	// Snapshot gives the last window of what was sampled, in the memory of one that is not needed any more, if any.
	Snapshot(window time.Duration, c Clock, used *Snapshot) *Snapshot
	// State tells how the sampling goes.
	State() State
	// Write writes a text to a new file, and gives its name.
	Write(text string) (string, error)
	// Suspend stops this process, as Ctrl-Z does.
	Suspend()
}

// Options of a display.
type Options struct {
	Color  bool
	Window time.Duration // one that is not offered becomes the next longer one
	Clock  Clock
}

// Refreshed tells a display that there is something new.
type Refreshed struct{}

// Model is the display: what is shown of a snapshot, and what keys do. It is a Bubble Tea model.
type Model struct {
	src    Source
	screen Screen
	snap   *Snapshot
	state  State

	view   view
	clock  Clock
	window int // of windows
	order  Order
	scope  Scope
	within string // what the scope is, for people

	paused  bool
	filter  *regexp.Regexp
	input   string // the expression that is being typed
	typing  bool
	badExpr bool
	message string
	help    bool

	cursor, top int        // the selected row, and the first one shown
	follow      int32      // what that row stands for, which may get another place; below 0: the row stays
	stacks      bool       // the stacks of a function are shown
	function    int32      // that function
	back        []position // where Esc leads to
	page        page       // what was shown last
}

// position is where the user was.
type position struct {
	view        view
	scope       Scope
	within      string
	cursor, top int
	stacks      bool
	function    int32
}

// NewModel gives a display.
func NewModel(src Source, o Options) *Model {
	m := &Model{src: src, screen: Screen{Width: 80, Height: 24, Color: o.Color}, clock: o.Clock, order: BySelf,
		scope: Everything, function: -1, follow: -1}
	if m.clock == "" {
		m.clock = CPU
	}
	m.window = len(windows) - 1
	for i, w := range windows {
		if o.Window > 0 && o.Window <= w {
			m.window = i
			break
		}
	}
	m.refresh()
	return m
}

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd { return nil }

// refresh takes a new snapshot, unless the display pauses.
func (m *Model) refresh() {
	m.state = m.src.State()
	if m.paused && m.snap != nil {
		return
	}
	m.snap = m.src.Snapshot(windows[m.window], m.clock, m.snap)
}

// again takes a new snapshot if the window or the clock is another; one that pauses keeps its moment.
func (m *Model) again() {
	if !m.paused {
		m.snap = m.src.Snapshot(windows[m.window], m.clock, m.snap)
	}
}

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.screen.Width, m.screen.Height = msg.Width, msg.Height
	case Refreshed:
		m.refresh()
	case tea.KeyPressMsg:
		return m, m.key(msg)
	case tea.PasteMsg:
		if m.typing {
			m.input += msg.Content
		}
	}
	return m, nil
}

// View implements tea.Model.
func (m *Model) View() tea.View {
	v := tea.NewView(m.Text())
	v.AltScreen = true
	return v
}
