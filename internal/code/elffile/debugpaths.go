// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"strings"

	"prywalk/internal/base/wire"
)

// GDB's debug-file-directory in distributions.
const debugRoot = "/usr/lib/debug"

// BuildIDPath returns the path of the debug file with a build id (hex); "" if that is too short.
func BuildIDPath(id string) string {
	if len(id) < 6 {
		return ""
	}
	return path.Join(debugRoot, ".build-id", id[:2], id[2:]+".debug")
}

// debugPaths returns the places of the debug file of the file at a path, in GDB's order (see debugLink): by build id,
// then, for an absolute path, by .gnu_debuglink. The path itself is left out.
func (f *File) debugPaths(file string) []string {
	var out []string
	add := func(p string) {
		if p != file {
			out = append(out, p)
		}
	}
	if p := BuildIDPath(f.BuildID()); p != "" {
		add(p)
	}
	link, _, linked := f.debugLink()
	if !linked || !path.IsAbs(file) {
		return out
	}
	dir := path.Dir(file)
	add(path.Join(dir, link))
	add(path.Join(dir, ".debug", link))
	add(path.Join(debugRoot, dir, link))
	// On most systems /lib links to /usr/lib; packages use either.
	if short, ok := strings.CutPrefix(dir, "/usr/"); ok {
		add(path.Join(debugRoot, short, link))
	} else {
		add(path.Join(debugRoot, "usr", dir, link))
	}
	return out
}

// errOtherBuild means a debug file of another build.
var errOtherBuild = errors.New("it belongs to another build of the file; install the one that fits")

const maxChecksum = 4 << 30 // bytes

// checkDebug checks that debug, the size bytes in r, is f's debug file, by build id, else by checksum. The error is
// errOtherBuild or errTooBig, or comes from r.
func (f *File) checkDebug(debug *File, r io.ReaderAt, size int64) error {
	if id, other := f.BuildID(), debug.BuildID(); id != "" && other != "" {
		if id != other {
			return errOtherBuild
		}
		return nil
	}
	_, want, linked := f.debugLink()
	if !linked {
		return errOtherBuild
	}
	if size > maxChecksum {
		return fmt.Errorf("computing its CRC: %w", errTooBig)
	}
	h := crc32.NewIEEE()
	if _, err := io.Copy(h, io.NewSectionReader(r, 0, size)); err != nil {
		return fmt.Errorf("computing its CRC: %w", err)
	}
	if h.Sum32() != want {
		return errOtherBuild
	}
	return nil
}

const maxLink = 8 << 10 // bytes

// debugLink returns base name and CRC-32 (IEEE) from .gnu_debuglink (GDB manual, "Debugging Information in Separate
// Files"), or false if there is no link.
func (f *File) debugLink() (name string, crc uint32, ok bool) {
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

// debugAltLink returns path and build id (hex) of dwz's file with shared debug information, or false without a link.
func (f *File) debugAltLink() (path, buildID string, ok bool) {
	c := &wire.Cursor{Bytes: f.linkData(".gnu_debugaltlink")}
	path = string(c.CString())
	if c.Bad || path == "" || c.Left() == 0 || c.Left() > maxBuildID {
		return "", "", false
	}
	return path, hex.EncodeToString(c.Rest()), true
}

func (f *File) linkData(name string) []byte {
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
