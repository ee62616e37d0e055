// SPDX-License-Identifier: Apache-2.0

package locks

import (
	"prywalk/internal/dump/stacks"
	"prywalk/internal/waits"
)

// LikelyOwner is a thread that likely holds a lock without a stored owner.
type LikelyOwner struct {
	TID      int    `json:"tid"`
	Evidence string `json:"evidence"`
}

func (l *Locks) addLikelyOwners() {
	for i := range l.Locks {
		m := &l.Locks[i]
		if m.Owner != 0 || m.Free {
			continue
		}
		for _, p := range l.Processes {
			if p.PID == m.PID {
				likely, class := insideBlock(p, uint64(m.Address))
				m.Likely = append(m.Likely, likely...)
				if m.Kind == waits.Semaphore && class != "" { // an interpreter without symbols does not tell it
					m.Type = class
				}
			}
		}
	}
}

// insideBlock returns the threads inside of the block of the lock at a word, and its class.
func insideBlock(p *stacks.Process, word uint64) (out []LikelyOwner, class string) {
	for i := range p.Threads {
		t := &p.Threads[i]
		for _, h := range t.Holds {
			if h.Word == word && word != 0 {
				class = h.Class
				at := stacks.Frame{Place: &stacks.Place{Function: h.Function, File: h.File, Line: h.Line}}
				out = append(out, LikelyOwner{t.TID, "inside of \"with\" of this " + h.Class + ", in " + at.Location()})
				break
			}
		}
	}
	return out, class
}
