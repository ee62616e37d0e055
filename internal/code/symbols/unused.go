// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/code/loadedcode"
)

// NamesFinal reports whether a module's file is unused, or its process is closed.
func (n *Namer) NamesFinal(m *frames.Module) bool {
	mapping := loadedcode.MappingOf(m)
	if mapping == nil {
		return true
	}
	if mapping.Image != nil {
		return mapping.Image.Unused()
	}
	return mapping.ProcessClosed()
}

// DropUnused drops the tables of unused files, and the perf maps of processes that had ended at the last call.
func (n *Namer) DropUnused() {
	for img := range n.tables {
		if img.Unused() {
			n.Forget(img)
		}
	}
	for pid, f := range n.byPID {
		before := f.ended
		if f.ended = unix.Kill(pid, 0) == unix.ESRCH; before && f.ended {
			f.perfMap.Close()
			delete(n.byPID, pid)
		}
	}
}

// Forget drops the tables of a file.
func (n *Namer) Forget(img *loadedcode.Image) {
	if t := n.tables[img]; t != nil {
		_ = t.Close() // only read
		delete(n.tables, img)
	}
}
