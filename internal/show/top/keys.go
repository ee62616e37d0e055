// SPDX-License-Identifier: Apache-2.0

package top

import (
	"regexp"
	"slices"

	tea "charm.land/bubbletea/v2"
)

var keyHelp = [][2]string{
	{"q", "quit"}, {"↑↓", "select"}, {"enter", "open"}, {"esc", "back"},
	{"tab", "functions, threads, waits; also 1, 2, 3"},
	{"c", "clock: cpu, runqueue, blocked, wall"}, {"space", "pause; the sampling goes on"},
	{"/", "filter by a regular expression"},
	{"[ ]", "shorter or longer window"}, {"s", "sort by self, total, name"},
	{"?", "this help"},
}

var shortHelp = []string{"q quit", "tab view", "enter open", "esc back", "c clock", "space pause", "/ filter",
	"[ ] window", "s sort", "? help"}

func (m *Model) handleKey(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	switch {
	case name == "ctrl+c":
		return tea.Quit
	case name == "ctrl+z":
		return func() tea.Msg { m.source.Suspend(); return Refreshed{} }
	case m.typing:
		m.edit(k)
	case m.help:
		m.help = false
	case m.move(name):
	default:
		return m.runCommand(name)
	}
	return nil
}

// escTwice is two escapes read at once.
const escTwice = "alt+esc"

func (m *Model) edit(k tea.KeyPressMsg) {
	switch name := k.String(); name {
	case "enter":
		re, err := regexp.Compile(m.input)
		if m.badExpr = err != nil; m.badExpr {
			return
		}
		m.typing = false
		if m.filter = re; m.input == "" {
			m.filter = nil
		}
		m.cursor, m.top, m.follow = 0, 0, -1
	case "esc", escTwice:
		m.typing, m.badExpr, m.input = false, false, ""
		m.filter = nil
	case "backspace":
		if r := []rune(m.input); len(r) > 0 {
			m.input = string(r[:len(r)-1])
		}
	case "ctrl+u":
		m.input = ""
	default:
		m.input += k.Text
	}
}

func (m *Model) move(name string) bool {
	step := max(1, m.page.visibleRows-1)
	switch name {
	case "up", "k":
		m.cursor--
	case "down", "j":
		m.cursor++
	case "pgup", "ctrl+b":
		m.cursor -= step
	case "pgdown", "ctrl+f":
		m.cursor += step
	case "home", "g":
		m.cursor = 0
	case "end", "G":
		m.cursor = m.page.rows - 1
	default:
		return false
	}
	m.cursor = max(0, min(m.cursor, m.page.rows-1))
	m.follow = -1
	if m.cursor > 0 && m.cursor < len(m.page.ids) {
		m.follow = m.page.ids[m.cursor]
	}
	return true
}

func (m *Model) runCommand(name string) tea.Cmd {
	switch name {
	case "q":
		return tea.Quit
	case "space", "p":
		if m.paused = !m.paused; !m.paused {
			m.refresh()
		}
	case "tab", "1", "2", "3", "shift+tab":
		m.showView(name)
	case "c":
		all := Clocks()
		m.clock = all[(slices.Index(all, m.clock)+1)%len(all)]
	case "[":
		m.window = max(0, m.window-1)
		m.takeSnapshot()
	case "]":
		m.window = min(len(windows)-1, m.window+1)
		m.takeSnapshot()
	case "s":
		orders := []Order{BySelf, ByTotal, ByName}
		m.order = orders[(slices.Index(orders, m.order)+1)%len(orders)]
	case "/":
		m.typing, m.input = true, ""
	case "enter":
		m.openRow()
	case "esc", "backspace", "left", "h":
		m.goBack()
	case escTwice:
		m.goBack()
		m.goBack()
	case "?":
		m.help = true
	}
	return nil
}

func (m *Model) showView(name string) {
	var view tableView
	switch name {
	case "tab":
		view = (m.view + 1) % views
	case "shift+tab":
		view = (m.view + views - 1) % views
	default:
		view = tableView(name[0] - '1')
	}
	m.position = position{view: view, scope: wholeProgram}
	m.follow, m.history = -1, nil
}

// openRow must follow a drawing after the last message, as Bubble Tea does it.
func (m *Model) openRow() {
	if m.showsStacks || m.cursor >= len(m.page.ids) {
		return
	}
	m.history = append(m.history, m.position)
	id := m.page.ids[m.cursor]
	switch m.view {
	case threadsView:
		m.scope.Thread, m.scopeName = id, m.snapshot.threadName(id)
		m.view = functionsView
	case waitsView:
		m.scope.Wait, m.scopeName = id, "in "+m.snapshot.waits[id].name
		m.view = functionsView
	default:
		m.showsStacks, m.function = true, id
	}
	m.cursor, m.top, m.follow = 0, 0, -1
}

func (m *Model) goBack() {
	n := len(m.history)
	if n == 0 {
		m.filter, m.input = nil, ""
		return
	}
	m.position, m.history = m.history[n-1], m.history[:n-1]
	m.follow = -1
}
