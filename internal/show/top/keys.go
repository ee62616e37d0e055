// SPDX-License-Identifier: Apache-2.0

package top

import (
	"regexp"
	"slices"

	tea "charm.land/bubbletea/v2"
)

// keyHelp is cut at the end on a narrow screen.
var keyHelp = []string{"q quit", "tab view", "enter stacks", "/ filter", "c clock", "p pause", "esc back"}

func (m *Model) handleKey(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	switch {
	case name == "ctrl+c":
		return tea.Quit
	case name == "ctrl+z":
		return func() tea.Msg { m.source.Suspend(); return Refreshed{} }
	case m.typing:
		m.edit(k)
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
		m.position.cursor, m.position.top, m.follow = 0, 0, none
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
		m.position.cursor--
	case "down", "j":
		m.position.cursor++
	case "pgup", "ctrl+b":
		m.position.cursor -= step
	case "pgdown", "ctrl+f":
		m.position.cursor += step
	case "home", "g":
		m.position.cursor = 0
	case "end", "G":
		m.position.cursor = m.page.rows - 1
	default:
		return false
	}
	m.position.cursor = max(0, min(m.position.cursor, m.page.rows-1))
	m.follow = none
	if m.position.cursor > 0 && m.position.cursor < len(m.page.ids) {
		m.follow = m.page.ids[m.position.cursor]
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
	case "a":
		m.all = !m.all
		m.position, m.follow = position{opened: none}, none
	case "/":
		m.typing, m.input = true, ""
	case "enter":
		m.openRow()
	case "esc", "backspace", "left", "h":
		m.goBack()
	case escTwice:
		m.goBack()
		m.goBack()
	}
	return nil
}

func (m *Model) showView(name string) {
	switch name {
	case "tab":
		m.view = (m.view + 1) % views
	case "shift+tab":
		m.view = (m.view + views - 1) % views
	default:
		m.view = tableView(name[0] - '1')
	}
	m.position, m.follow = position{opened: none}, none
}

// openRow must follow a drawing after the last message, as Bubble Tea does it.
func (m *Model) openRow() {
	if m.position.opened == none && m.position.cursor < len(m.page.ids) {
		m.table = m.position
		m.position, m.follow = position{opened: m.page.ids[m.position.cursor]}, none
	}
}

func (m *Model) goBack() {
	if m.position.opened == none {
		m.filter, m.input = nil, ""
		return
	}
	m.position, m.follow = m.table, none
}
