// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
)

// Reader is memory of a process.
type Reader interface {
	Read(addr uint64, b []byte) int
}

// ReadWord reads the word at an address.
func ReadWord(r Reader, addr uint64) (uint64, bool) {
	var b [8]byte
	ok := r.Read(addr, b[:]) == len(b)
	return binary.LittleEndian.Uint64(b[:]), ok
}

// WordReader reads the word at an address.
type WordReader func(addr uint64) (uint64, bool)

// ReadRegions reads regions, many in one call if h is a [Gatherer], else each from r. It calls failed for each
// unreadable one; all: there was none.
func ReadRegions(h Host, r Reader, parts []frames.Region, failed func(*frames.Region)) (all bool) {
	g, _ := h.(Gatherer)
	for all = true; len(parts) > 0; {
		n := 0
		if g != nil {
			n = g.ReadParts(parts[:min(len(parts), procmem.MaxParts)])
		}
		if n == 0 {
			if p := &parts[0]; r.Read(p.Addr, p.Bytes) != len(p.Bytes) {
				all = false
				failed(p)
			}
			n = 1
		}
		parts = parts[n:]
	}
	return all
}
