package ptrace

import "math"

// What restarts need of the files under /proc while a thread is stopped, read
// without a word to the Go scheduler.

// isOpen reports whether a descriptor of the thread, in its own table, is one of a kind, by how
// the text of its link under /proc begins. That text is the kernel's: no file system is asked.
//
//go:nosplit
func (c *Controller) isOpen(tid int, fd uint64, kind string) bool {
	if fd > math.MaxInt32 {
		return false
	}
	text := c.procLink(tid, fd)
	n := 0
	for n < len(kind) && n < len(text) && text[n] == kind[n] {
		n++
	}
	return n == len(kind)
}

// procPath writes "/proc/TID" and name, which may end in NUL, into buf, and gives the place
// behind it.
//
//go:nosplit
func procPath(tid int, name string, buf *[48]byte) int {
	return put(buf, putNumber(buf, put(buf, 0, "/proc/"), uint64(tid)), name)
}

// putNumber writes a decimal number at a place, and gives the place behind it.
//
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

// put writes text at a place, and gives the place behind it.
//
//go:nosplit
func put(buf *[48]byte, at int, text string) int {
	for i := 0; i < len(text) && at < len(buf); i++ {
		buf[at] = text[i]
		at++
	}
	return at
}
