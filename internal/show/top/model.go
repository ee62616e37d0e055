// SPDX-License-Identifier: Apache-2.0

package top

import (
	"regexp"
	"time"

	tea "charm.land/bubbletea/v2"
)

type tableView int

const (
	functionsView tableView = iota
	threadsView
	waitsView
	views
)

var (
	viewNames = [views]string{"functions", "threads", "waits"}
	groupings = [views]string{threadsView: "thread", waitsView: "wait"} // [view.Groupings]
)

// Source provides a display's data. Its methods are called on one goroutine at a time.
type Source interface {
	// Snapshot returns the last window.
	Snapshot(window time.Duration) *Snapshot
	State() State
	// Suspend stops this process, as Ctrl-Z does.
	Suspend()
}

// Options configure a display.
type Options struct {
	Color  bool
	Window time.Duration
	Clock  Clock
}

// Refreshed is the message that there is new data.
type Refreshed struct{}

// Model is the display, for Bubble Tea.
type Model struct {
	source   Source
	screen   Screen
	snapshot *Snapshot
	state    State

	clock  Clock
	window time.Duration

	paused  bool
	filter  *regexp.Regexp
	input   string
	typing  bool
	badExpr bool

	view     tableView
	all      bool // functions, not only the program's own ones
	position position
	table    position // of the table whose row is opened
	follow   rowID    // id of the selected row, if the cursor follows it; without one, the position stays
	page     page
}

// position is where in the view the display is.
type position struct {
	opened      rowID // of the row whose stacks are shown, or none
	cursor, top int   // selected and first visible row
}

// NewModel returns a Model with its first snapshot.
func NewModel(src Source, o Options) *Model {
	m := &Model{source: src, screen: Screen{Width: 80, Height: 24, Color: o.Color}, clock: o.Clock, window: o.Window,
		position: position{opened: none}, follow: none}
	m.refresh()
	return m
}

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd { return nil }

func (m *Model) refresh() {
	m.state = m.source.State()
	if !m.paused {
		m.snapshot = m.source.Snapshot(m.window)
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
		return m, m.handleKey(msg)
	case tea.PasteMsg:
		if m.typing {
			m.input += msg.Content
		}
	}
	return m, nil
}

// View implements tea.Model.
func (m *Model) View() tea.View {
	v := tea.NewView(m.text())
	v.AltScreen = true
	return v
}
