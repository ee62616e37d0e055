// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/hex"

	"prywalk/internal/base/wire"
)

const maxLink = 8 << 10 // bytes

// debugLink returns base name and CRC-32 (IEEE) from .gnu_debuglink (GDB manual, "Debugging Information in Separate
// Files"); false: there is no link.
func (f *sectionReader) debugLink() (name string, crc uint32, ok bool) {
	data := f.linkData(".gnu_debuglink")
	c := &wire.Cursor{Bytes: data}
	name = string(c.CString())
	c.Skip(min(uint64(-c.Pos)&3, uint64(c.Left()))) // padding may be cut off
	crc = c.U32()
	if c.Bad || name == "" || bytes.IndexByte([]byte(name), '/') >= 0 {
		return "", 0, false
	}
	return name, crc, true
}

// debugAltLink returns path and build id (hex) of dwz's file with shared debug information; false: there is no link.
func (f *sectionReader) debugAltLink() (path, buildID string, ok bool) {
	c := &wire.Cursor{Bytes: f.linkData(".gnu_debugaltlink")}
	path = string(c.CString())
	if c.Bad || path == "" || c.Left() == 0 || c.Left() > maxBuildID {
		return "", "", false
	}
	return path, hex.EncodeToString(c.Rest()), true
}

func (f *sectionReader) linkData(name string) []byte {
	s := f.Section(name)
	if s == nil || s.Size > maxLink || s.Flags&elf.SHF_COMPRESSED != 0 {
		return nil
	}
	data, err := f.Data(s)
	if err != nil {
		return nil
	}
	f.Free(data) // callers keep no bytes of it
	return data
}
