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

var viewNames = [views]string{"functions", "threads", "waits"}

// windows can be selected; 0: all.
var windows = []time.Duration{2 * time.Second, 10 * time.Second, maxSliceAge, 0}

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
	window int
	order  Order

	paused  bool
	filter  *regexp.Regexp
	input   string
	typing  bool
	badExpr bool
	help    bool

	position
	follow  int32 // id of the selected row, if the cursor follows it; negative: the position stays
	history []position
	page    page
}

// position is what is shown, and where.
type position struct {
	view        tableView
	scope       Scope
	scopeName   string // "" for all
	showsStacks bool   // of function
	function    int32
	cursor, top int // selected and first visible row
}

// NewModel returns a Model with its first snapshot.
func NewModel(src Source, o Options) *Model {
	m := &Model{source: src, screen: Screen{Width: 80, Height: 24, Color: o.Color}, clock: o.Clock, order: BySelf,
		position: position{scope: wholeProgram}, follow: -1}

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

func (m *Model) refresh() {
	m.state = m.source.State()
	m.takeSnapshot()
}

func (m *Model) takeSnapshot() {
	if !m.paused {
		m.snapshot = m.source.Snapshot(windows[m.window])
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
