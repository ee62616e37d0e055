// SPDX-License-Identifier: Apache-2.0

package ptrace

import "math"

// isOpen reports whether the descriptor's /proc link begins with kind.
//
//go:nosplit
func (f *procFiles) isOpen(tid int, fd uint64, kind string) bool {
	if fd > math.MaxInt32 {
		return false
	}
	text := f.link(tid, fd)
	n := 0
	for n < len(kind) && n < len(text) && text[n] == kind[n] {
		n++
	}
	return n == len(kind)
}

// procPath returns the offset behind what it writes, as do putNumber and put.
//
//go:nosplit
func procPath(tid int, name string, buf *[48]byte) int {
	return put(buf, putNumber(buf, put(buf, 0, "/proc/"), uint64(tid)), name)
}

//go:nosplit
func putNumber(buf *[48]byte, at int, v uint64) int {
	digits := 1
	for rest := v / 10; rest > 0; rest /= 10 {
		digits++
	}
	for i := at + digits - 1; i >= at; i-- {
		if i < len(buf) {
			buf[i] = byte('0' + v%10)
		}
		v /= 10
	}
	return min(at+digits, len(buf))
}

//go:nosplit
func put(buf *[48]byte, at int, text string) int {
	for i := 0; i < len(text) && at < len(buf); i++ {
		buf[at] = text[i]
		at++
	}
	return at
}
