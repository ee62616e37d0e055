// SPDX-License-Identifier: Apache-2.0

package locks

import (
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

// LikelyOwner is a thread that likely holds a lock without a stored owner.
type LikelyOwner struct {
	TID      int    `json:"tid"`
	Evidence string `json:"evidence"`
}

func (l *Locks) addLikelyOwners() {
	for i := range l.Locks {
		lock := &l.Locks[i]
		if lock.Owner != 0 || lock.Free {
			continue
		}
		likely, class := insideBlock(l.Process(lock.PID), uint64(lock.Address))
		lock.Likely = append(lock.Likely, likely...)
		if lock.Kind == waits.Semaphore && class != "" { // unknown of an interpreter without symbols
			lock.Type = class
		}
	}
}

func insideBlock(p *stacks.Process, word uint64) (out []LikelyOwner, class string) {
	for i := range p.Threads {
		t := &p.Threads[i]
		for _, h := range t.Holds {
			if h.Word == word && word != 0 {
				class = h.Class
				place := stacks.Place{Function: h.Function, File: h.File, Line: h.Line}
				out = append(out, LikelyOwner{t.TID, "inside of \"with\" of this " + h.Class + ", in " + place.Location()})
				break
			}
		}
	}
	return out, class
}
