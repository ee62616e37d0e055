// SPDX-License-Identifier: Apache-2.0

package top

import (
	"strings"

	"prywalk/internal/base/tabular"
	"prywalk/internal/code/unnamedcode"
)

// Unnamed rows of at least 1/largeRow of the time get a note.
const largeRow = 20

// nameNotes returns none while names are pending.
func (snap *Snapshot) nameNotes(c Clock) []string {
	if snap.PendingNames > 0 {
		return nil
	}
	p := unnamedcode.Program{PID: snap.onePID(), Again: "run top again", OneRow: true}
	for _, path := range snap.paths {
		p.Mappings = append(p.Mappings, path)
		if !strings.HasPrefix(path, "[") {
			p.Files = append(p.Files, path)
		}
	}
	all := snap.total(wholeProgram).of(c)
	var rows []unnamedcode.Row
	for _, r := range snap.functions(wholeProgram) {
		v := r.Total.of(c)
		rows = append(rows, unnamedcode.Row{Name: r.Name, Module: r.Module, Large: v > 0 && largeRow*v >= all,
			Nameless: r.Nameless})
	}
	return p.Notes(rows)
}

func (snap *Snapshot) onePID() (pid int) {
	for _, th := range snap.threads {
		switch p := th.pid; {
		case pid == 0:
			pid = p
		case p != pid:
			return 0
		}
	}
	return pid
}

const noteLinesDivisor = 4

func (m *Model) noteLines() []string {
	var lines []string
	for _, n := range m.snapshot.nameNotes(m.clock) {
		lines = append(lines, strings.Split(string(tabular.Paragraph(m.screen.Width, "  ", n)), "\n")...)
	}
	if most := max(1, m.screen.Height/noteLinesDivisor); m.screen.Height > 0 && len(lines) > most {
		lines = append(lines[:most-1], m.screen.cut(lines[most-1]+" …"))
	}
	return lines
}
