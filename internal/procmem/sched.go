package procmem

import "bytes"

// ParseLastRun finds se.exec_start in the text of a sched file (proc_sched_show_task
// in the kernel's kernel/sched/debug.c), in nanoseconds: it is printed as
// milliseconds with six decimals. False if it is not there.
func ParseLastRun(b []byte) (int64, bool) {
	i := bytes.Index(b, []byte("se.exec_start"))
	if i < 0 {
		return 0, false
	}
	b = b[i:]
	i = bytes.IndexByte(b, ':')
	if i < 0 {
		return 0, false
	}
	var ns, digits int64
	point := false
	for _, ch := range b[i+1:] {
		switch {
		case ch == ' ' && digits == 0:
		case ch == '.' && !point && digits > 0:
			point, digits = true, 0
		case ch >= '0' && ch <= '9':
			if ns > 1<<58 {
				return 0, false
			}
			ns = 10*ns + int64(ch-'0')
			digits++
		case ch == '\n':
			return ns, point && digits == 6
		default:
			return 0, false
		}
	}
	return 0, false
}

// ParseSwitches finds nr_switches in the text of a sched file: how often the thread was taken off a processor. False if
// it is not there.
func ParseSwitches(b []byte) (n uint64, ok bool) {
	i := bytes.LastIndex(b, []byte("\nnr_switches")) // a thread's name, before it, may be anything
	if i < 0 {
		return 0, false
	}
	b = b[i+1:]
	if i = bytes.IndexByte(b, ':'); i < 0 {
		return 0, false
	}
	digits := 0
	for _, ch := range b[i+1:] {
		switch {
		case ch == ' ' && digits == 0:
		case ch >= '0' && ch <= '9' && digits < 19:
			n, digits = 10*n+uint64(ch-'0'), digits+1
		default:
			return n, ch == '\n' && digits > 0
		}
	}
	return 0, false
}
