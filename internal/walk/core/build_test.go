// SPDX-License-Identifier: Apache-2.0

package core

import (
	"bytes"
	"encoding/binary"
	"testing"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
)

type writer struct {
	machine uint16
	notes   []byte
	loads   []load
}

// What data lacks of size was not dumped.
type load struct {
	addr, size uint64
	flags      uint32
	data       []byte
}

var le = binary.LittleEndian

func (w *writer) note(owner string, kind uint32, desc []byte) {
	w.notes = le.AppendUint32(w.notes, uint32(len(owner)+1))
	w.notes = le.AppendUint32(w.notes, uint32(len(desc)))
	w.notes = le.AppendUint32(w.notes, kind)
	w.notes = append(append(w.notes, owner...), 0)
	w.notes = append(w.notes, make([]byte, -len(w.notes)&3)...)
	w.notes = append(w.notes, desc...)
	w.notes = append(w.notes, make([]byte, -len(w.notes)&3)...)
}

// orderX86 has the words of user_regs_struct by DWARF number (System V ABI for x86-64, figure 3.36).
var orderX86 = [16]uint8{10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0}

func (w *writer) thread(tid int, r *frames.Regs) {
	n := procmem.LenRegsX86
	if r.Arch == frames.ARM64 {
		n = procmem.LenRegsARM64
	}
	b := make([]byte, prReg+n+8)
	le.PutUint32(b[prPID:], uint32(tid))
	put := func(place int, v uint64) { le.PutUint64(b[prReg+8*place:], v) }
	if r.Arch == frames.ARM64 {
		for i, v := range r.Val {
			put(i, v)
		}
		put(32, r.PC)
	} else {
		for reg, place := range orderX86 {
			put(int(place), r.Val[reg])
		}
		put(16, r.PC)
		put(15, ^uint64(0))
	}
	w.note("CORE", notePrStatus, b)
}

func (w *writer) process(pid int, name string) {
	b := make([]byte, 136)
	le.PutUint32(b[psPID:], uint32(pid))
	copy(b[psName:psName+15], name)
	w.note("CORE", notePrPsInfo, b)
}

// Offsets are in units of 4096.
func (w *writer) files(files ...fileMap) {
	b := le.AppendUint64(nil, uint64(len(files)))
	b = le.AppendUint64(b, 4096)
	for _, f := range files {
		b = le.AppendUint64(b, f.start)
		b = le.AppendUint64(b, f.end)
		b = le.AppendUint64(b, f.off/4096)
	}
	for _, f := range files {
		b = append(append(b, f.path...), 0)
	}
	w.note("CORE", noteFile, b)
}

func (w *writer) bytes() []byte {
	b := []byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	b = le.AppendUint16(b, 4) // ET_CORE
	b = le.AppendUint16(b, w.machine)
	b = le.AppendUint32(b, 1)
	b = le.AppendUint64(b, 0)
	b = le.AppendUint64(b, 64) // e_phoff
	b = le.AppendUint64(b, 0)
	b = le.AppendUint32(b, 0)
	for _, v := range []uint16{64, 56, uint16(1 + len(w.loads)), 64, 0, 0} {
		b = le.AppendUint16(b, v)
	}
	off := uint64(64 + 56*(1+len(w.loads)))
	segment := func(kind, flags uint32, addr, filesz, memsz uint64) {
		b = le.AppendUint32(b, kind)
		b = le.AppendUint32(b, flags)
		for _, v := range []uint64{off, addr, 0, filesz, memsz, 4} {
			b = le.AppendUint64(b, v)
		}
		off += filesz
	}
	segment(4, 0, 0, uint64(len(w.notes)), 0)
	for _, l := range w.loads {
		segment(1, l.flags, l.addr, uint64(len(l.data)), l.size)
	}
	b = append(b, w.notes...)
	for _, l := range w.loads {
		b = append(b, l.data...)
	}
	return b
}

func openBytes(t testing.TB, b []byte, sysroot string) *Core {
	t.Helper()
	c, err := Open(bytes.NewReader(b), int64(len(b)), sysroot)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func walkCore(c *Core, th *Thread, limit int) ([]uint64, frames.StopReason) {
	var out []uint64
	w := frames.Walker{MaxDepth: limit}
	for w.Init(c.Space(), &th.Regs, c.Memory()); w.Next(); {
		out = append(out, w.Frame().PC)
	}
	return out, w.StopReason()
}

func words(vs ...uint64) []byte {
	var b []byte
	for _, v := range vs {
		b = le.AppendUint64(b, v)
	}
	return b
}
