// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"fmt"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
)

// ImageFinder suffices to make modules.
type ImageFinder interface {
	// ReadMem returns an error if it reads fewer than len(b) bytes.
	ReadMem(addr uint64, b []byte) (int, error)
	// Image returns the image of m's file, or nil.
	Image(m *Mapping) *Image
	Images() *ImageCache
}

// AddressSpace is a live process or a core.
type AddressSpace interface {
	ImageFinder
	// Read is ReadMem without an error, in a core also of mapped files.
	Read(addr uint64, b []byte) int
	// ReadMapped is ReadMem for a mapped file, with a time limit.
	ReadMapped(addr uint64, b []byte) (int, error)
	// Mappings calls f for each mapping, ascending; MappingsOf at least for those of m's file. Error: not all mappings
	// could be read.
	Mappings(f func(*RawMapping)) error
	MappingsOf(m *Mapping, f func(*RawMapping)) error
	// ReadCode is Read for code made at run time.
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

// ReadParts is [procmem.Memory.ReadParts].
func (p *Process) ReadParts(parts []frames.Region) int {
	return p.Memory().ReadParts(p.MemoryTID(), parts)
}

// ReadMapped implements AddressSpace. It copies, as a read that ends after the time limit must not write to b.
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

func readMemory(m *procmem.Memory, tid int, addr uint64, b []byte) (int, error) {
	n, err := m.Read(tid, addr, b)
	if err == nil && n < len(b) {
		err = procmem.ErrFault
	}
	return n, err
}
