// SPDX-License-Identifier: Apache-2.0

package gdbjit

import "encoding/binary"

const (
	listAt  = 0x1000
	nodesAt = 0x2000
	imageAt = 0x10000
	loadAt  = 0x40000
	codeAt  = 0x7f0000000000
	memEnd  = 0x80000
)

type fake struct {
	mem   []byte
	reads int
	// during is called before each read.
	during func(addr uint64)
}

func newFake() *fake {
	f := &fake{mem: make([]byte, memEnd)}
	binary.LittleEndian.PutUint32(f.mem[listAt:], 1)
	return f
}

func (f *fake) read(addr uint64, b []byte) int {
	f.reads++
	if f.during != nil {
		f.during(addr)
	}
	if addr >= uint64(len(f.mem)) {
		return 0
	}
	return copy(b, f.mem[addr:])
}

func (f *fake) put(addr, v uint64) { binary.LittleEndian.PutUint64(f.mem[addr:], v) }

func node(i int) uint64 { return nodesAt + uint64(i)*0x40 }

func (f *fake) register(at, image uint64, b []byte) {
	copy(f.mem[image:], b)
	first := binary.LittleEndian.Uint64(f.mem[listAt+16:])
	f.put(at, first)
	f.put(at+8, 0)
	f.put(at+16, image)
	f.put(at+24, uint64(len(b)))
	if first != 0 {
		f.put(first+8, at)
	}
	f.put(listAt+16, at)
	f.put(listAt+8, at)
	binary.LittleEndian.PutUint32(f.mem[listAt+4:], 1)
}

func (f *fake) unregister(at uint64) {
	next := binary.LittleEndian.Uint64(f.mem[at:])
	for p := uint64(listAt + 16); p != 0; p = binary.LittleEndian.Uint64(f.mem[p:]) {
		if binary.LittleEndian.Uint64(f.mem[p:]) == at {
			f.put(p, next)
			break
		}
	}
	f.put(listAt+8, at)
	binary.LittleEndian.PutUint32(f.mem[listAt+4:], 2)
}

func (f *fake) code() *Code {
	c := New(listHost{fake: f})
	c.follow([]uint64{listAt})
	c.Refresh()
	return c
}

type elfSection struct {
	name        string
	kind, flags uint64
	addr        uint64
	data        []byte
	size        uint64 // without data
	link        uint32
}

const (
	progBits, symTab, strTab, rela, noBits = 1, 2, 3, 4, 8
	allocExec, alloc                       = 6, 2
)

func elfImage(kind uint16, sections []elfSection) []byte {
	le := binary.LittleEndian
	names := []byte{0}
	sections = append([]elfSection{{}}, sections...)
	sections = append(sections, elfSection{name: ".shstrtab", kind: strTab})
	offs := make([]uint32, len(sections))
	for i := range sections {
		offs[i] = uint32(len(names))
		names = append(append(names, sections[i].name...), 0)
	}
	sections[len(sections)-1].data = names
	b := make([]byte, 64)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], kind)
	le.PutUint16(b[18:], 62)
	le.PutUint32(b[20:], 1)
	var headers []byte
	for i, s := range sections {
		h := make([]byte, 64)
		if i > 0 {
			le.PutUint32(h[0:], offs[i])
			le.PutUint32(h[4:], uint32(s.kind))
			le.PutUint64(h[8:], s.flags)
			le.PutUint64(h[16:], s.addr)
			le.PutUint64(h[24:], uint64(len(b)))
			le.PutUint64(h[32:], max(s.size, uint64(len(s.data))))
			le.PutUint32(h[40:], s.link)
			if s.kind == symTab {
				le.PutUint64(h[56:], 24)
			}
			b = append(b, s.data...)
		}
		headers = append(headers, h...)
	}
	le.PutUint64(b[40:], uint64(len(b)))
	le.PutUint16(b[52:], 64)
	le.PutUint16(b[58:], 64)
	le.PutUint16(b[60:], uint16(len(sections)))
	le.PutUint16(b[62:], uint16(len(sections)-1))
	return append(b, headers...)
}

// debugFrame has one FDE: CFA rsp+off, return address below it.
func debugFrame(start, size uint64, off byte) []byte {
	b := []byte{
		12, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16, 0, 0, 0,
		0x1c, 0, 0, 0, 0, 0, 0, 0,
	}
	b = binary.LittleEndian.AppendUint64(b, start)
	b = binary.LittleEndian.AppendUint64(b, size)
	return append(b, 0x0c, 7, off, 0x90, 1, 0, 0, 0) // def_cfa rsp, off; offset rip, CFA-8
}

// ehFrame has one FDE with absolute addresses.
func ehFrame(start, size uint64, off byte) []byte {
	b := []byte{
		12, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, 16, 0, 0, 0,
		0x1c, 0, 0, 0, 0x14, 0, 0, 0,
	}
	b = binary.LittleEndian.AppendUint64(b, start)
	b = binary.LittleEndian.AppendUint64(b, size)
	b = append(b, 0x0c, 7, off, 0x90, 1, 0, 0, 0)
	return append(b, 0, 0, 0, 0)
}

func symbol(name uint32, section uint16, value, size uint64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, name)
	b = append(b, 0x12, 0)
	b = binary.LittleEndian.AppendUint16(b, section)
	b = binary.LittleEndian.AppendUint64(b, value)
	return binary.LittleEndian.AppendUint64(b, size)
}

// absolute is an image as QEMU's: one function, with .debug_frame.
func absolute(name string, start, size uint64, off byte) []byte {
	return elfImage(2, []elfSection{
		{name: ".text", kind: noBits, flags: allocExec, addr: start, size: size},
		{name: ".debug_frame", kind: progBits, data: debugFrame(start, size, off)},
		{name: ".symtab", kind: symTab, link: 4, data: append(make([]byte, 24), symbol(1, 1, start, size)...)},
		{name: ".strtab", kind: strTab, data: append([]byte("\x00"+name), 0)},
	})
}

// relocatable is an image as LLVM's: .eh_frame is relocated only where it was loaded.
func (f *fake) relocatable(name string, start, size uint64, off byte) []byte {
	loaded := ehFrame(start, size, off)
	copy(f.mem[loadAt:], loaded)
	return elfImage(1, []elfSection{
		{name: ".text", kind: progBits, flags: allocExec, addr: start, data: make([]byte, size)},
		{name: ".eh_frame", kind: progBits, flags: alloc, addr: loadAt, data: ehFrame(0, size, off)},
		{name: ".rela.eh_frame", kind: rela, data: make([]byte, 24)},
		{name: ".symtab", kind: symTab, link: 5, data: append(make([]byte, 24), symbol(1, 1, 0x10, 0x20)...)},
		{name: ".strtab", kind: strTab, data: append([]byte("\x00"+name), 0)},
	})
}
