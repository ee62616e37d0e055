package ptrace

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
