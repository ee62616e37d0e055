// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/loadedcode"
)

// NamesFinal reports whether a module's file is unused, or its process has ended.
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
	over := map[int]bool{}
	for _, pid := range n.processes() {
		switch {
		case unix.Kill(pid, 0) != unix.ESRCH:
		case !n.ended[pid]:
			over[pid] = true
		default:
			if j := n.maps[pid]; j != nil {
				j.Close()
			}
			delete(n.maps, pid)
			delete(n.files, pid)
		}
	}
	n.ended = over
}

// Forget drops the tables of a file.
func (n *Namer) Forget(img *loadedcode.Image) {
	if t := n.tables[img]; t != nil {
		_ = t.Close() // only read
		delete(n.tables, img)
	}
}

func (n *Namer) processes() []int {
	var list []int
	for pid := range n.files {
		list = append(list, pid)
	}
	for pid := range n.maps {
		if n.files[pid] == nil {
			list = append(list, pid)
		}
	}
	return list
}
