// SPDX-License-Identifier: Apache-2.0

package arm64

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// The kernel's driver-api/early-userspace/buffer-format: a header of hexadecimal numbers, a name and bytes, all padded
// to four bytes.
type cpio struct {
	out bytes.Buffer
	ino int
}

// Modes of entries (inode(7)).
const (
	modeDir  = 0o040000
	modeFile = 0o100000
	modeChar = 0o020000
)

func (c *cpio) add(name string, mode uint32, major, minor int, data []byte) {
	c.ino++
	fmt.Fprintf(&c.out, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		c.ino, mode, 0, 0, 1, 0, len(data), 0, 0, major, minor, len(name)+1, 0)
	c.out.WriteString(name)
	c.out.WriteByte(0)
	c.pad()
	c.out.Write(data)
	c.pad()
}

func (c *cpio) pad() {
	for c.out.Len()%4 != 0 {
		c.out.WriteByte(0)
	}
}

func (c *cpio) dir(name string) { c.add(name, modeDir|0o755, 0, 0, nil) }

func (c *cpio) file(name string, data []byte) { c.add(name, modeFile|0o755, 0, 0, data) }

func (c *cpio) copy(name, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	c.file(name, data)
	return nil
}

func (c *cpio) finish(w io.Writer) error {
	c.add("TRAILER!!!", 0, 0, 0, nil)
	_, err := c.out.WriteTo(w)
	return err
}
