// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// Image is an initrd. Its format is the kernel's driver-api/early-userspace/buffer-format:
// a header of hexadecimal numbers, a name and bytes, all padded to four bytes.
type Image struct {
	out bytes.Buffer
	ino int
}

// Modes of entries (inode(7)).
const (
	ModeDir  = 0o040000
	ModeFile = 0o100000
	ModeChar = 0o020000
)

// Add adds an entry with a device's numbers, or with contents.
func (c *Image) Add(name string, mode uint32, major, minor int, data []byte) {
	c.ino++
	fmt.Fprintf(&c.out, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		c.ino, mode, 0, 0, 1, 0, len(data), 0, 0, major, minor, len(name)+1, 0)
	c.out.WriteString(name)
	c.out.WriteByte(0)
	c.pad()
	c.out.Write(data)
	c.pad()
}

func (c *Image) pad() {
	for c.out.Len()%4 != 0 {
		c.out.WriteByte(0)
	}
}

// Directory adds a directory.
func (c *Image) Directory(name string) { c.Add(name, ModeDir|0o755, 0, 0, nil) }

// File adds an executable file.
func (c *Image) File(name string, data []byte) { c.Add(name, ModeFile|0o755, 0, 0, data) }

// Copy adds a file with the contents of another.
func (c *Image) Copy(name, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	c.File(name, data)
	return nil
}

// Finish writes the image, which takes no further entries.
func (c *Image) Finish(w io.Writer) error {
	c.Add("TRAILER!!!", 0, 0, 0, nil)
	_, err := c.out.WriteTo(w)
	return err
}
