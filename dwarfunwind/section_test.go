// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import "errors"

// Bytes is a section in memory.
type Bytes []byte

var errBounds = errors.New("view beyond the end of the section")

// View implements [Viewer].
func (b Bytes) View(off uint64, n int) ([]byte, error) {
	if n < 0 || off > uint64(len(b)) || uint64(n) > uint64(len(b))-off {
		return nil, errBounds
	}
	return b[off : off+uint64(n)], nil
}

// NewSection returns a section in memory.
func NewSection(addr uint64, data []byte) Section {
	return Section{Addr: addr, Size: uint64(len(data)), Data: Bytes(data)}
}
