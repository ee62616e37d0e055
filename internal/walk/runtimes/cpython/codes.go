// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"

	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

type codes struct {
	python *interpreter
	view   *managed.View
	kept   managed.Objects[*code]
}

type code struct {
	managed.CacheEntry
	id         identity
	name, file string
	table      []byte
	shim       bool // of the interpreter itself
}

// identity distinguishes code objects at one address: by version from 3.12 on. Before it is equal for functions of one
// name and first line whose parts are at the same addresses.
type identity struct {
	file, name, table uint64
	qual              uint64 // before 3.12
	hash              uint64
	first             int
	version           uint32
}

// Identity implements [managed.Identified].
func (c *code) Identity() identity { return c.id }

const maxData = 64 << 20 // bytes before or after _PyRuntime that may be the interpreter's own data

func (c *code) frame(minor, offset int) managed.Frame {
	return managed.Frame{
		Function: c.name, File: c.file, StartLine: c.id.first, Line: lineOf(minor, c.table, c.id.first, offset),
	}
}

// identify returns NotObject for another type, ObjectFreed if unreadable.
func (c *codes) identify(addr uint64, get managed.WordReader) (identity, managed.ObjectStatus) {
	word := func(off int64) (uint64, bool) {
		v, ok := get(addr + uint64(off&^7))
		return v >> (off & 7 * 8), ok
	}
	typ, ok := word(objectType + int64(c.python.headExtra))
	switch {
	case !ok:
		return identity{}, managed.ObjectFreed
	case typ != c.python.codeType:
		return identity{}, managed.NotObject
	}
	file, ok1 := word(c.python.codeFile)
	name, ok2 := word(c.python.codeName)
	table, ok3 := word(c.python.codeLineTable)
	first, ok4 := word(c.python.codeFirstLine)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return identity{}, managed.ObjectFreed
	}
	id := identity{file: file, name: name, table: table, first: int(int32(first))}
	if c.python.codeVersion != 0 {
		v, ok := word(c.python.codeVersion)
		id.version = uint32(v)
		return id, managed.StatusOf(ok)
	}
	if c.python.codeQualname != 0 {
		if id.qual, ok = word(c.python.codeQualname); !ok {
			return identity{}, managed.ObjectFreed
		}
	}
	if name == 0 {
		return id, managed.ObjectKnown
	}
	id.hash, ok = get(name + textHash + c.python.headExtra)
	return id, managed.StatusOf(ok)
}

func (c *codes) resolve(addr uint64) (*code, managed.ObjectStatus) {
	e, status, _ := managed.Prove(&c.kept, c.view, addr, c)
	return e, status
}

// Identify implements [managed.ObjectSource].
func (c *codes) Identify(addr uint64, now bool) (identity, managed.ObjectStatus) {
	if now {
		return c.identify(addr, c.view.Pages.Word)
	}
	return c.identify(addr, c.view.Sample.Mem.Word)
}

func (c *codes) identifyNow(addr uint64) (identity, managed.ObjectStatus) {
	c.view.Pages.Reset(c.view.Sample.Live)
	return c.identify(addr, c.view.Pages.Word)
}

const immortalRefs = 1<<32 - 1

// alive reports whether an object has references. Freeing sets the count to 0, later to an address above 4 GiB
// (Objects/obmalloc.c). From 3.14 on the two highest bytes are flags (Include/object.h).
func (c *codes) alive(addr uint64) bool {
	if c.python.headExtra != 0 {
		return c.aliveFreeThreaded(addr)
	}
	refs, ok := c.view.Current(addr)
	if c.python.minor >= 14 {
		refs &= 1<<48 - 1
	}
	return ok && refs > 0 && refs <= immortalRefs
}

func (c *codes) aliveFreeThreaded(addr uint64) bool {
	own, ok1 := c.view.Current(addr + 8)
	others, ok2 := c.view.Current(addr + 16)
	return ok1 && ok2 && (own>>32 != 0 || int64(others)>>2 > 0)
}

// Read implements [managed.ObjectSource].
func (c *codes) Read(addr uint64, want *identity) (*code, managed.ObjectStatus) {
	readAt := procmem.Now()
	id, status := c.identifyNow(addr)
	if status != managed.ObjectKnown || want != nil && id != *want {
		return nil, managed.ObjectFreed
	}
	e := &code{id: id, CacheEntry: managed.CacheEntry{LastChecked: readAt}}
	qual := uint64(0)
	if c.python.codeQualname != 0 {
		qual, _ = c.view.Current(addr + uint64(c.python.codeQualname))
	}
	var ok1, ok2, ok3 bool
	if e.name, ok1 = c.readText(qual); !ok1 {
		e.name, ok1 = c.readText(id.name)
	}
	e.file, ok2 = c.readText(id.file)
	e.table, ok3 = c.readBytes(id.table)
	// a cleanup of __init__ (3.13)
	e.shim = id.file == 0 || id.name == 0 || id.first == 0 && addr-c.python.at+maxData < 2*maxData
	again, status := c.identifyNow(addr)
	if status != managed.ObjectKnown || again != id || !e.shim && !(ok1 && ok2 && ok3) {
		return nil, managed.ObjectFreed
	}
	if !c.alive(addr) {
		return nil, managed.ObjectFreed
	}
	e.FirstRead = procmem.Now()
	e.LastWalked = e.FirstRead
	c.kept.Add(addr, e)
	c.kept.Skip.Add(addr)
	return e, managed.ObjectKnown
}

const (
	maxText  = 1 << 12 // characters
	maxTable = 1 << 20 // bytes
)

func (c *codes) readText(addr uint64) (string, bool) {
	return c.python.textOf(c.view.Sample.Live, addr)
}

func decodeText(b []byte, kind int) string {
	out := make([]rune, 0, len(b)/kind)
	for ; len(b) >= kind; b = b[kind:] {
		switch kind {
		case 1:
			out = append(out, rune(b[0]))
		case 2:
			out = append(out, rune(binary.LittleEndian.Uint16(b)))
		default:
			out = append(out, rune(binary.LittleEndian.Uint32(b)&0x1fffff))
		}
	}
	return string(out)
}

func (c *codes) readBytes(addr uint64) ([]byte, bool) {
	var head [8]byte
	if addr == 0 || c.view.Sample.Live.Read(addr+bytesSize+c.python.headExtra, head[:]) != len(head) {
		return nil, false
	}
	n := binary.LittleEndian.Uint64(head[:])
	if n > maxTable {
		return nil, false
	}
	b := make([]byte, n)
	return b, n == 0 || c.view.Sample.Live.Read(addr+bytesContent+c.python.headExtra, b) == len(b)
}
