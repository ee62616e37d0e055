// SPDX-License-Identifier: Apache-2.0

package code

import (
	"fmt"

	"prywalk/frames"
	"prywalk/internal/procmem"
)

// AddressSpace is a live process or a core, as far as modules are made of it. Modules are made the
// same way of either.
type AddressSpace interface {
	// ReadMem reads memory; fewer bytes than len(b) come with an error.
	ReadMem(addr uint64, b []byte) (int, error)
	// Read reads memory, of a core also what a file has of it, and gives the number of bytes read.
	Read(addr uint64, b []byte) int
	// ReadMapped is ReadMem for memory that shows a file, whose file system may not
	// answer.
	ReadMapped(addr uint64, b []byte) (int, error)
	// Mappings calls f for each mapping, in order of their addresses.
	Mappings(f func(*RawMapping)) error
	// MappingsOf calls f at least for each mapping of the file that m shows, in
	// order.
	MappingsOf(m *Mapping, f func(*RawMapping)) error
	// Image gives the image of the file that m shows; nil if there is none.
	Image(m *Mapping) *Image
	// Images has the images that are shared.
	Images() *ImageCache
	// ReadCode reads that code, and gives the number of bytes.
	ReadCode(addr uint64, b []byte) int
}

// ReadMem implements AddressSpace.
func (p *Process) ReadMem(addr uint64, b []byte) (int, error) {
	return readMemory(p.Memory(), p.MemoryTID(), addr, b)
}

// Read implements AddressSpace.
func (p *Process) Read(addr uint64, b []byte) int {
	n, _ := p.ReadMem(addr, b)
	return n
}

// ReadParts reads several places at once, in their order, and gives how many were read whole. It is 0 where that cannot
// be had, and ends before what can be read alone only: see [procmem.Memory.ReadParts].
func (p *Process) ReadParts(parts []frames.Region) int {
	return p.Memory().ReadParts(p.MemoryTID(), parts)
}

// ReadMapped implements AddressSpace. The bytes are copied once more: what comes too late must
// not be written to b.
func (p *Process) ReadMapped(addr uint64, b []byte) (int, error) {
	memory, tid, size := p.Memory(), p.MemoryTID(), len(b)
	got, err := p.files.opener.Read(fmt.Sprintf("memory of process %d", p.PID), func() ([]byte, error) {
		own := make([]byte, size)
		n, err := readMemory(memory, tid, addr, own)
		return own[:n], err
	})
	return copy(b, got), err
}

// Mappings implements AddressSpace.
func (p *Process) Mappings(f func(*RawMapping)) error { return eachMapping(p.text, f) }

// MappingsOf implements AddressSpace.
func (p *Process) MappingsOf(_ *Mapping, f func(*RawMapping)) error { return p.Mappings(f) }

// Images implements AddressSpace.
func (p *Process) Images() *ImageCache { return p.cache }

// ReadCode implements AddressSpace.
func (p *Process) ReadCode(addr uint64, b []byte) int { return p.jit.ReadCode(addr, b) }

// readMemory reads memory of the process that a thread belongs to; fewer bytes than
// len(b) come with an error.
func readMemory(m *procmem.Memory, tid int, addr uint64, b []byte) (int, error) {
	n, err := m.Read(tid, addr, b)
	if err == nil && n < len(b) {
		err = procmem.ErrFault
	}
	return n, err
}
