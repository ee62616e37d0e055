// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

import "bytes"

// Section is uncompressed contents. Views stay valid and are not changed.
type Section interface {
	// Size is in bytes.
	Size() uint64
	// View returns the n bytes at off.
	View(off uint64, n int) ([]byte, error)
}

// Bytes is a [Section] in memory.
type Bytes []byte

// Size implements [Section].
func (b Bytes) Size() uint64 { return uint64(len(b)) }

// View implements [Section]. It returns fewer than n bytes at the end.
func (b Bytes) View(off uint64, n int) ([]byte, error) {
	off = min(off, uint64(len(b)))
	return b[off:min(off+uint64(n), uint64(len(b)))], nil
}

func size(s Section) uint64 {
	if s == nil {
		return 0
	}
	return s.Size()
}

func view(s Section, off, n uint64) []byte {
	total := size(s)
	if off >= total {
		return nil
	}
	b, _ := s.View(off, int(min(n, total-off)))
	return b
}

// smallView is in bytes; smaller views are seldom copies.
const smallView = 64 << 10

func (d *Data) takeViewMemory(n uint64) bool {
	return n <= smallView || n < 1<<40 && d.takeMemory(int(n))
}

// maxString is in bytes: mangled templates reach some thousands.
const maxString = 16 << 10

func stringIn(s Section, off uint64) []byte {
	for n := uint64(128); n <= maxString; n *= 8 {
		b := view(s, off, n)
		if i := bytes.IndexByte(b, 0); i >= 0 {
			return b[:i]
		}
		if uint64(len(b)) < n {
			return nil
		}
	}
	return nil
}
