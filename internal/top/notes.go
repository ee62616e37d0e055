// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"strings"

	"prywalk/internal/goroutinecount"
	"prywalk/internal/tabular"
	"prywalk/internal/unnamedcode"
)

// Goroutines are a process's waiting ones, which no row shows.
type Goroutines struct {
	// PID is the number of the process.
	PID int `json:"pid"`
	*goroutinecount.WaitingGoroutines
	Text string `json:"-"`
}

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
	all := snap.Total(wholeProgram).Of(c)
	var rows []unnamedcode.Row
	for _, r := range snap.Functions(wholeProgram) {
		v := r.Total.Of(c)
		rows = append(rows, unnamedcode.Row{Name: r.Name, Module: r.Module, Large: v > 0 && largeRow*v >= all,
			Nameless: r.Nameless})
	}
	return p.Notes(rows)
}

func (snap *Snapshot) onePID() (pid int) {
	for i := range snap.threads {
		switch p := snap.threads[i].pid; {
		case pid == 0:
			pid = p
		case p != pid:
			return 0
		}
	}
	return pid
}

func (snap *Snapshot) notes(st *State, c Clock) (notes []string) {
	for i := range st.Goroutines {
		g := &st.Goroutines[i]
		if g.Text == "" {
			continue
		}
		text := g.Text
		if len(st.Goroutines) > 1 {
			text = fmt.Sprintf("process %d: %s", g.PID, text)
		}
		notes = append(notes, text)
	}
	return append(notes, snap.nameNotes(c)...)
}

const noteLinesDivisor = 4

func (m *Model) noteLines() []string {
	var lines []string
	for _, n := range m.snapshot.notes(&m.state, m.clock) {
		lines = append(lines, strings.Split(string(tabular.Paragraph(m.screen.Width, "  ", n)), "\n")...)
	}
	if most := max(1, m.screen.Height/noteLinesDivisor); m.screen.Height > 0 && len(lines) > most {
		lines = append(lines[:most-1], m.screen.cut(lines[most-1]+" …"))
	}
	return lines
}
