// SPDX-License-Identifier: Apache-2.0

package threadcontext

import (
	"errors"
	"path"
	"strings"

	"prywalk/frames"
	"prywalk/internal/base/wire"
	"prywalk/internal/walk/managed"
)

// variable is where a thread has its variable: at an offset from the thread pointer, or in a block that the thread's
// table of blocks (dtv) names.
type variable struct {
	offset int64 // from the thread pointer, or in the block
	// inBlock means that the variable is in a block. entry is then the block's offset in the table of blocks, and table
	// the offset of that table's address from the thread pointer.
	inBlock bool
	entry   int64
	table   int64
}

var errNoAccess = errors.New("no relocation says where the library's thread-local variable is")

// findVariable decodes the relocation of the variable in its own file (ELF Handling For Thread-Local Storage, and the
// TLS descriptors' RFC). symbol is its offset in the file's block.
func findVariable(h managed.ContextHost, m *frames.Module, symbol uint64) (variable, error) {
	for _, section := range []string{".rela.dyn", ".rela.plt"} {
		if r, ok := findRelocation(h, m, section); ok {
			return r.resolve(h, m)
		}
	}
	size, align, ok := h.ThreadLocalBlock(m)
	if !ok || align == 0 || align&(align-1) != 0 {
		return variable{}, errNoAccess
	}
	round := func(n uint64) uint64 { return (n + align - 1) &^ (align - 1) }
	if h.Arch() == frames.ARM64 { // after the thread's control block of two words
		return variable{offset: int64(round(16) + symbol)}, nil
	}
	return variable{offset: int64(symbol - round(size))}, nil
}

type relocation struct {
	kind uint32
	at   uint64
}

// The relocations of thread-local variables (System V ABI for x86-64; ELF for AArch64).
var accesses = map[uint32]access{
	16: accessModule, 18: accessStatic, 36: accessDescriptor,
	1028: accessModule, 1030: accessStatic, 1031: accessDescriptor,
}

type access uint8

const (
	accessModule     access = iota + 1 // module, offset in its block
	accessStatic                       // offset from the thread pointer
	accessDescriptor                   // function, argument: an offset, or the address of module and offset
)

const (
	relocationSize = 24
	symbolSize     = 24
	maxRelocations = 1 << 20
)

func findRelocation(h managed.Host, m *frames.Module, section string) (found relocation, ok bool) {
	_, list, ok := h.Section(m, section)
	_, symbols, ok2 := h.Section(m, ".dynsym")
	_, names, ok3 := h.Section(m, ".dynstr")
	if !ok || !ok2 || !ok3 {
		return found, false
	}
	c := wire.Cursor{Bytes: list}
	for range min(len(list)/relocationSize, maxRelocations) {
		at, info := c.U64(), c.U64()
		c.U64() // addend
		kind, symbol := uint32(info), info>>32
		if accesses[kind] == 0 || symbol == 0 || symbol >= uint64(len(symbols)/symbolSize) {
			continue
		}
		s := wire.At(symbols, symbol*symbolSize)
		name := wire.At(names, uint64(s.U32()))
		if strings.HasPrefix(string(name.Take(uint64(min(name.Left(), len(variableName)+1)))), variableName+"\x00") {
			return relocation{kind, at}, true
		}
	}
	return found, false
}

const maxStatic = 1 << 30 // of an offset from the thread pointer; addresses are greater

func (r relocation) resolve(h managed.ContextHost, m *frames.Module) (variable, error) {
	first, ok := managed.ReadWord(h, m.Bias+r.at)
	second, ok2 := managed.ReadWord(h, m.Bias+r.at+8)
	if !ok || !ok2 && accesses[r.kind] != accessStatic {
		return variable{}, managed.ErrNotYet
	}
	switch accesses[r.kind] {
	case accessStatic:
		return variable{offset: int64(first)}, nil
	case accessDescriptor:
		if first == 0 { // not yet relocated
			return variable{}, managed.ErrNotYet
		}
		if n := int64(second); n > -maxStatic && n < maxStatic {
			return variable{offset: n}, nil
		}
		descriptor := second
		first, ok = managed.ReadWord(h, descriptor)
		second, ok2 = managed.ReadWord(h, descriptor+8)
		if !ok || !ok2 {
			return variable{}, managed.ErrNotYet
		}
	}
	if first == 0 || first > 1<<20 {
		return variable{}, managed.ErrNotYet
	}
	return inBlock(h, first, second), nil
}

// inBlock has the tables of glibc (sysdeps/x86_64/nptl/tls.h, sysdeps/aarch64/nptl/tls.h, sysdeps/generic/dl-dtv.h) and
// of musl (src/internal/pthread_impl.h).
func inBlock(h managed.Host, module, offset uint64) variable {
	v := variable{inBlock: true, entry: int64(16 * module), offset: int64(offset)}
	musl := false
	for _, m := range h.Modules() {
		base := path.Base(m.Name)
		musl = musl || base == "libc.so" || strings.HasPrefix(base, "ld-musl-")
	}
	if musl {
		v.entry = int64(8 * module)
	}
	switch {
	case h.Arch() == frames.X86_64:
		v.table = 8
	case musl:
		v.table = -8
	}
	return v
}

const (
	slotRecord = managed.SlotFirstFree + iota
	slotTable
	slotBlock
)

// plan copies the variable and the record that it points to.
func (v *variable) plan() *managed.Plan {
	steps := []managed.Step{{Op: managed.Load, Base: managed.SlotAnchor, Off: v.offset, To: slotRecord}}
	if v.inBlock {
		steps = []managed.Step{
			{Op: managed.Load, Base: managed.SlotAnchor, Off: v.table, To: slotTable},
			{Op: managed.Load, Base: slotTable, Off: v.entry, To: slotBlock},
			{Op: managed.Load, Base: slotBlock, Off: v.offset, To: slotRecord},
		}
	}
	// The second copy is for a record at the end of a mapping.
	for _, size := range []uint32{recordSize, recordHead} {
		steps = append(steps, managed.Step{Op: managed.Copy, Base: slotRecord, Max: size})
	}
	return &managed.Plan{Steps: steps, FromThreadPointer: true}
}

// value returns the copied variable of the thread, or false if it was not copied.
func (v *variable) value(threadPointer uint64, mem frames.Memory) (record uint64, ok bool) {
	at := threadPointer
	if v.inBlock {
		for _, off := range [...]int64{v.table, v.entry} {
			if at, ok = mem.Word(at + uint64(off)); !ok {
				return 0, false
			}
		}
	}
	return mem.Word(at + uint64(v.offset))
}
