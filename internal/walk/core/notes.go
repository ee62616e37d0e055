// SPDX-License-Identifier: Apache-2.0

package core

import (
	"bytes"
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/code/elffile"
	"prywalk/internal/host/procmem"
)

// Notes of owner CORE (include/uapi/linux/elf.h).
const (
	notePrStatus = 1
	notePrPsInfo = 3
	noteAuxv     = 6
	noteSigInfo  = 0x53494749
	noteFile     = 0x46494c45
)

// Offsets in elf_prstatus and elf_prpsinfo of 64-bit processes (include/linux/elfcore.h).
const (
	prCurSig = 12
	prPID    = 32
	prReg    = 112

	psPID     = 24
	psName    = 40
	psNameLen = 16
)

// Entries of the auxiliary vector (include/uapi/linux/auxvec.h).
const (
	auxEntry       = 9
	auxSysinfoEhdr = 33
)

// Thread is a thread of a core.
type Thread struct {
	TID     int
	Name    string // the process's: cores have none of threads
	Regs    frames.Regs
	Syscall int64 // number; negative means none, or unknown
}

type notes struct {
	threads []Thread
	comm    string
	pid     int
	signal  int
	files   []fileMap
	entry   uint64 // run-time address; 0 means unknown
	vdso    uint64 // address of the ELF header; 0 means none
}

type fileMap struct {
	start, end, off uint64
	path            string
}

// readNotes skips damaged notes, and those beyond the file's size in total (overlapping segments).
func readNotes(f *elffile.File) *notes {
	n := &notes{}
	left := int64(f.Size())
	for note := range f.Notes() {
		if left -= int64(len(note.Desc)) + 12; left < 0 {
			break
		}
		n.decode(f.Arch(), &note)
	}
	for i := range n.threads {
		n.threads[i].Name = n.comm
	}
	return n
}

// A thread's NT_PRSTATUS comes before its other notes.
func (n *notes) decode(arch frames.Arch, note *elffile.Note) {
	if note.Name == "LINUX" {
		if len(n.threads) > 0 && arch == frames.ARM64 {
			n.threads[len(n.threads)-1].readARM64Note(note.Type, note.Desc)
		}
		return
	}
	if note.Name != "CORE" {
		return
	}
	switch note.Type {
	case notePrStatus:
		n.prStatus(arch, note.Desc)
	case notePrPsInfo:
		n.prPsInfo(note.Desc)
	case noteSigInfo:
		if len(note.Desc) >= 4 && n.signal == 0 {
			n.signal = int(int32(binary.LittleEndian.Uint32(note.Desc)))
		}
	case noteAuxv:
		n.auxv(note.Desc)
	case noteFile:
		n.fileMaps(note.Desc)
	}
}

func (n *notes) prStatus(arch frames.Arch, b []byte) {
	if len(b) < prReg {
		return
	}
	t := Thread{TID: int(int32(binary.LittleEndian.Uint32(b[prPID:]))), Syscall: -1}
	var ok bool
	if arch == frames.ARM64 {
		ok = procmem.DecodeRegsARM64(b[prReg:], &t.Regs)
	} else {
		t.Syscall, ok = procmem.DecodeRegsX86(b[prReg:], &t.Regs)
	}
	if !ok {
		return
	}
	if len(n.threads) == 0 && n.signal == 0 {
		n.signal = int(binary.LittleEndian.Uint16(b[prCurSig:]))
	}
	n.threads = append(n.threads, t)
}

func (n *notes) prPsInfo(b []byte) {
	if len(b) < psName+psNameLen {
		return
	}
	n.pid = int(int32(binary.LittleEndian.Uint32(b[psPID:])))
	name, _, _ := bytes.Cut(b[psName:psName+psNameLen], []byte{0})
	n.comm = string(name)
}

func (n *notes) auxv(b []byte) {
	for ; len(b) >= 16; b = b[16:] {
		v := binary.LittleEndian.Uint64(b[8:])
		switch binary.LittleEndian.Uint64(b) {
		case auxEntry:
			n.entry = v
		case auxSysinfoEhdr:
			n.vdso = v
		}
	}
}

// NT_FILE has (fill_files_note, fs/binfmt_elf.c): count, unit of offsets; start, end, offset of each; names.
func (n *notes) fileMaps(b []byte) {
	if len(b) < 16 || n.files != nil {
		return
	}
	count, page := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	b = b[16:]
	if count > uint64(len(b))/24 {
		return
	}
	names := b[24*count:]
	for i := range count {
		e := b[24*i:]
		name, rest, ok := bytes.Cut(names, []byte{0})
		if !ok {
			break
		}
		names = rest
		m := fileMap{start: binary.LittleEndian.Uint64(e), end: binary.LittleEndian.Uint64(e[8:]),
			off: binary.LittleEndian.Uint64(e[16:]) * page, path: string(name)}
		if m.start < m.end && m.off < 1<<62 {
			n.files = append(n.files, m)
		}
	}
	n.files = withoutOverlaps(n.files, func(m *fileMap) (start, end uint64) { return m.start, m.end })
}

// Notes of owner LINUX of an arm64 thread (include/uapi/linux/elf.h).
const (
	noteARMTLS     = 0x401 // tpidr_el0
	noteARMSyscall = 0x404 // number; −1 means none
	noteARMPAC     = 0x406 // struct user_pac_mask: data_mask, insn_mask
)

func (t *Thread) readARM64Note(kind uint32, b []byte) {
	switch {
	case kind == noteARMTLS && len(b) >= 8:
		t.Regs.TLS = binary.LittleEndian.Uint64(b)
	case kind == noteARMSyscall && len(b) >= 4:
		t.Syscall = int64(int32(binary.LittleEndian.Uint32(b)))
	case kind == noteARMPAC && len(b) >= 16:
		t.Regs.PACMask = binary.LittleEndian.Uint64(b[8:])
	}
}
