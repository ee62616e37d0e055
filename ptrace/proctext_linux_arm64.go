package ptrace

// What restarts need of the files under /proc while a thread is stopped, read
// without a word to the Go scheduler.

// after gives the place in text behind what, −1 if it is not there.
//
//go:nosplit
func after(text []byte, what string) int {
	for i := 0; i+len(what) <= len(text); i++ {
		n := 0
		for n < len(what) && text[i+n] == what[n] {
			n++
		}
		if n == len(what) {
			return i + n
		}
	}
	return -1
}

// digits reads the number that begins at a place.
//
//go:nosplit
func digits(text []byte, at int, base uint64) (v uint64, ok bool) {
	for at >= 0 && at < len(text) {
		d := uint64(text[at])
		switch {
		case d >= '0' && d <= '9':
			d -= '0'
		case base == 16 && d >= 'a' && d <= 'f':
			d -= 'a' - 10
		default:
			return v, ok
		}
		v, ok = v*base+d, true
		at++
	}
	return v, ok
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
