// SPDX-License-Identifier: Apache-2.0

package procmem

type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) skip() {
	i := 0
	for i < len(c.b) && (c.b[i] == ' ' || c.b[i] == '\t' || c.b[i] == '\n') {
		i++
	}
	c.b = c.b[i:]
}

func (c *cursor) word() []byte {
	c.skip()
	i := 0
	for i < len(c.b) && c.b[i] != ' ' && c.b[i] != '\t' && c.b[i] != '\n' {
		i++
	}
	w := c.b[:i]
	c.b = c.b[i:]
	return w
}

func (c *cursor) uint() uint64 { return c.number(c.word(), 10) }

func (c *cursor) int() int64 {
	w := c.word()
	if len(w) > 0 && w[0] == '-' {
		return -int64(c.number(w[1:], 10))
	}
	return int64(c.number(w, 10))
}

func (c *cursor) hex() uint64 {
	w := c.word()
	if len(w) > 2 && w[0] == '0' && w[1] == 'x' {
		return c.number(w[2:], 16)
	}
	c.bad = true
	return 0
}

func (c *cursor) number(w []byte, base uint64) uint64 {
	v := uint64(0)
	if len(w) == 0 {
		c.bad = true
	}
	for _, ch := range w {
		d := digit(ch)
		if d >= base || v > (1<<64-1-d)/base {
			c.bad = true
			break
		}
		v = v*base + d
	}
	if c.bad {
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
