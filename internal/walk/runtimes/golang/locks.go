// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"prywalk/frames"
	"prywalk/internal/base/cache"
	"prywalk/internal/walk/managed"
)

const maxLockPCs = 1 << 14

// lockFinder finds the locks that frames hold ([funcs.findLocksX86]).
type lockFinder struct {
	program *program
	held    map[uint64]*heldLocksX86 // by pc
}

// HeldLocks implements [managed.Scheduler].
func (l *lockFinder) HeldLocks(pc, sp, awaited frames.Addr, stack frames.Memory) (out []managed.TaskLock) {
	if l.program.host.Arch() != frames.X86_64 {
		return nil
	}
	t, bias := l.program.tableAt(pc)
	if t == nil {
		return nil
	}
	known := l.held[pc]
	if known == nil {
		known = t.findLocksX86(pc - bias)
		cache.Put(&l.held, maxLockPCs, pc, known)
	}
	for i := range known.path.held {
		h, f := &known.path.held[i], lockFrame{l.program, bias, sp, awaited, stack}
		addr, ok := known.value(f, h.lock, 0)
		if !ok || addr <= 1<<16 || awaited == 0 && (h.lock == known.path.awaited || h.lock == known.path.viaInterface) {
			continue
		}
		read := h.read
		if h.method.node != 0 {
			entry, _ := known.value(f, h.method, 0)
			m := lockMethods[t.functionAt(entry-bias)]
			if read = m.read; !m.take {
				continue
			}
		}
		out = append(out, managed.TaskLock{Address: addr, Read: read, Taken: h.at + bias})
	}
	return out
}

type lockFrame struct {
	program           *program
	bias, sp, awaited uint64
	stack             frames.Memory
}

// word reads the copied stack, and other memory as it is now.
func (f *lockFrame) word(at uint64) (uint64, bool) {
	if f.stack != nil {
		if w, ok := f.stack.Word(at); ok {
			return w, true
		}
	}
	return f.program.word(at)
}
