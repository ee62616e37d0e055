// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

import "prywalk/internal/code/elffile"

// view returns at most n bytes; nil if they cannot be read.
func view(w *elffile.Window, off, n uint64) []byte {
	if off >= w.Size() {
		return nil
	}
	b, _ := w.View(off, int(min(n, w.Size()-off)))
	return b
}

// smallView is in bytes; smaller views are seldom copies.
const smallView = 64 << 10

func (d *Data) takeViewMemory(n uint64) bool {
	return n <= smallView || n < 1<<40 && d.takeMemory(int(n))
}

// maxString is in bytes: mangled templates reach some thousands.
const maxString = 16 << 10

// stringIn returns nil for a string that is too long.
func stringIn(w *elffile.Window, off uint64) []byte {
	if s := w.CString(off, maxString); len(s) < maxString {
		return s
	}
	return nil
}
