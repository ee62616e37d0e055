package look

import (
	"prywalk/frames"
	"prywalk/ptrace"
)

// The piece of another stack that is copied: mostly what is further out.
const (
	alsoBelow = 16 << 10
	alsoBytes = 96 << 10
)

// alsoStack copies the memory around an address, besides what another Extra copies.
type alsoStack struct {
	inner ptrace.Extra
	addr  frames.Addr
	buf   []byte
}

// extraOf gives what is to be copied of a thread besides its stack, nil if nothing.
func (l *Looker) extraOf(t *Thread) ptrace.Extra {
	addr := t.also.Load()
	if addr == 0 {
		return t.Extra
	}
	if l.also.buf == nil {
		l.also.buf = make([]byte, alsoBytes)
	}
	l.also.inner, l.also.addr = t.Extra, addr
	return &l.also
}

// Regions implements [ptrace.Extra].
func (a *alsoStack) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	n := 0
	if a.inner != nil {
		n = a.inner.Regions(regs, rd, out)
	}
	if n == len(out) {
		return n
	}
	from := max(a.addr, alsoBelow) - alsoBelow
	got := rd.Read(from, a.buf)
	if got == 0 { // the stack begins later
		from = a.addr &^ 0xfff
		got = rd.Read(from, a.buf)
	}
	if got == 0 {
		return n
	}
	out[n] = frames.Region{Addr: from, Bytes: a.buf[:got]}
	return n + 1
}
