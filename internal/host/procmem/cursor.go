// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"errors"
	"syscall"

	"prywalk/internal/base/errs"
)

// Cursor reads the fields of a file in /proc. It allocates nothing.
type Cursor struct {
	Text []byte // that follows
	Bad  bool   // a field was not as demanded

}

func (c *Cursor) skip() {
	i := 0
	for i < len(c.Text) && (c.Text[i] == ' ' || c.Text[i] == '\t' || c.Text[i] == '\n') {
		i++
	}
	c.Text = c.Text[i:]
}

// Word returns the next field, empty at the end.
func (c *Cursor) Word() []byte {
	c.skip()
	i := 0
	for i < len(c.Text) && c.Text[i] != ' ' && c.Text[i] != '\t' && c.Text[i] != '\n' {
		i++
	}
	w := c.Text[:i]
	c.Text = c.Text[i:]
	return w
}

// Uint reads a decimal number.
func (c *Cursor) Uint() uint64 { return c.Number(c.Word(), 10) }

// Int is Uint with a sign.
func (c *Cursor) Int() int64 {
	w := c.Word()
	if len(w) > 0 && w[0] == '-' {
		return -int64(c.Number(w[1:], 10))
	}
	return int64(c.Number(w, 10))
}

// Hex reads a number that begins with 0x.
func (c *Cursor) Hex() uint64 {
	w := c.Word()
	if len(w) > 2 && w[0] == '0' && w[1] == 'x' {
		return c.Number(w[2:], 16)
	}
	c.Bad = true
	return 0
}

// Number returns a field's value, 0 if Bad.
func (c *Cursor) Number(w []byte, base uint64) uint64 {
	v := uint64(0)
	if len(w) == 0 {
		c.Bad = true
	}
	for _, ch := range w {
		d := digit(ch)
		if d >= base || v > (1<<64-1-d)/base {
			c.Bad = true
			break
		}
		v = v*base + d
	}
	if c.Bad {
		return 0
	}
	return v
}

func digit(ch byte) uint64 {
	switch {
	case ch >= '0' && ch <= '9':
		return uint64(ch - '0')
	case ch >= 'a' && ch <= 'f':
		return uint64(ch-'a') + 10
	case ch >= 'A' && ch <= 'F':
		return uint64(ch-'A') + 10
	}
	return 255
}

// Errors besides [errs.Exited] (ESRCH, ENOENT) and [errs.Denied] (EACCES, EPERM), unwrapped.
var (
	errFormat = errors.New("unexpected format of a file in /proc")                 // a file is not as in proc(5)
	ErrFault  = errors.New("address is not mapped or not readable in the process") // EFAULT, EIO
)

func classify(e syscall.Errno) error {
	switch e {
	case 0:
		return nil
	case syscall.ESRCH, syscall.ENOENT:
		return errs.Exited
	case syscall.EACCES, syscall.EPERM:
		return errs.Denied
	case syscall.EFAULT, syscall.EIO:
		return ErrFault
	}
	return e
}
