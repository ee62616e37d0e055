// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"bytes"
	"errors"
	"strconv"
	"syscall"

	"prywalk/internal/base/errs"
)

// Cursor reads the fields of a file in /proc. It allocates for a Bad field only.
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
	digits, ok := bytes.CutPrefix(c.Word(), []byte("0x"))
	c.Bad = c.Bad || !ok
	return c.Number(digits, 16)
}

// Number returns a field's value, 0 if Bad.
func (c *Cursor) Number(w []byte, base int) uint64 {
	v, err := strconv.ParseUint(string(w), base, 64)
	if c.Bad = c.Bad || err != nil; c.Bad {
		return 0
	}
	return v
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
