// SPDX-License-Identifier: Apache-2.0

package elffile

import "bytes"

// In bytes. C++ templates reach tens of kilobytes.
const maxString = 64 << 10

// stringAt returns "" if the string cannot be read.
func (w *Window) stringAt(off uint64) string {
	if off >= w.size {
		return ""
	}
	for n := uint64(256); ; n *= 8 {
		n = min(n, w.size-off, maxString)
		b, err := w.View(off, int(n))
		if err != nil {
			return ""
		}
		if i := bytes.IndexByte(b, 0); i >= 0 {
			return string(b[:i])
		}
		if n == w.size-off || n == maxString {
			return string(b)
		}
	}
}
