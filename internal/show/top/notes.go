// SPDX-License-Identifier: Apache-2.0

package top

import (
	"strings"

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
	all := snap.total().of(c)
	var rows []unnamedcode.Row
	for _, r := range snap.functions() {
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
