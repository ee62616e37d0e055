package code

import (
	"fmt"

	"prywalk/heuristics"
	"prywalk/internal/procmem"
)

// owner is what has an address space: a live process or a core. Modules are made the
// same way of either.
type owner interface {
	// readMem reads memory; fewer bytes than len(b) come with an error.
	readMem(addr uint64, b []byte) (int, error)
	// readMapped is readMem for memory that shows a file, whose file system may not
	// answer.
	readMapped(addr uint64, b []byte) (int, error)
	// mappings calls f for each mapping, in order of their addresses.
	mappings(f func(*rawMapping)) error
	// mappingsOf calls f at least for each mapping of the file that m shows, in
	// order.
	mappingsOf(m *Mapping, f func(*rawMapping)) error
	// image gives the image of the file that m shows; nil if there is none.
	image(m *Mapping) *Image
	// images has the images that are shared.
	images() *ImageCache
	// jitSource reads the code that the process made itself.
	jitSource() *heuristics.Source
	// readCode reads that code, and gives the number of bytes.
	readCode(addr uint64, b []byte) int
}

func (p *Process) readMem(addr uint64, b []byte) (int, error) {
	return readMemory(p.Memory(), p.MemoryTID(), addr, b)
}

// readMapped implements owner. The bytes are copied once more: what comes too late must
// not be written to b.
func (p *Process) readMapped(addr uint64, b []byte) (int, error) {
	memory, tid, size := p.Memory(), p.MemoryTID(), len(b)
	got, err := p.files.opener.Read(fmt.Sprintf("memory of process %d", p.PID), func() ([]byte, error) {
		own := make([]byte, size)
		n, err := readMemory(memory, tid, addr, own)
		return own[:n], err
	})
	return copy(b, got), err
}

func (p *Process) mappings(f func(*rawMapping)) error { return eachMapping(p.text, f) }

func (p *Process) mappingsOf(_ *Mapping, f func(*rawMapping)) error { return p.mappings(f) }

func (p *Process) images() *ImageCache { return p.cache }

func (p *Process) jitSource() *heuristics.Source { return p.jitCode }

func (p *Process) readCode(addr uint64, b []byte) int { return p.jit.ReadCode(addr, b) }

// readMemory reads memory of the process that a thread belongs to; fewer bytes than
// len(b) come with an error.
func readMemory(m *procmem.Memory, tid int, addr uint64, b []byte) (int, error) {
	n, err := m.Read(tid, addr, b)
	if err == nil && n < len(b) {
		err = procmem.ErrFault
	}
	return n, err
}
