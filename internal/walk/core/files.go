// SPDX-License-Identifier: Apache-2.0

package core

import (
	"cmp"
	"encoding/binary"
	"path"
	"strings"

	"prywalk/internal/code/elffile"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/safeopen"
)

type file struct {
	maps         []int             // indices of Core.maps
	img          *loadedcode.Image // nil means none
	tried        bool
	notELF       bool // not an ELF file
	sameContents bool
}

type match uint8

const (
	matchUnknown match = iota // nothing to compare
	matchSame
	matchOther
	matchNone // not an ELF file
)

const (
	maxFiles      = 4096
	maxMemHeaders = 256 // in a core's memory; linkers write some tens
)

const debugFiles = "/usr/lib/debug"

// Image implements loadedcode.AddressSpace. It returns the image of m's file if that fits, else of the core's contents,
// or nil.
func (c *Core) Image(m *loadedcode.Mapping) *loadedcode.Image {
	f := &c.files[m.Inode-1]
	if f.tried {
		return f.img
	}
	f.tried = true
	if c.loaded++; c.loaded > maxFiles || !strings.HasPrefix(m.Path, "/") || strings.HasPrefix(m.Path, "/memfd:") {
		return nil
	}
	mem := c.imageFromCore(m)
	var other *loadedcode.Image
	for _, r := range c.candidates(m, mem) {
		img, is := c.openCandidate(r, m, mem)
		switch {
		case img == nil:
			f.notELF = f.notELF || is == matchNone
			continue
		case is == matchOther, is == matchUnknown && m.Deleted:
			if r.Root == c.Sysroot { // another file of this host is none of the core's machine
				other = cmp.Or(other, img)
			}
			continue
		case is == matchUnknown:
			c.unverified = append(c.unverified, m.Path)
		}
		c.cache.DebugFiles(img, c.OpenFile)
		f.img, f.sameContents = img, is == matchSame
		mem.Close()
		return img
	}
	if mem != nil || m.Perm&loadedcode.PermExec != 0 || !c.hasHeaders && !f.notELF {
		c.warnMismatch(m, mem, other)
	}
	c.cache.DebugFiles(mem, c.OpenFile)
	f.img = mem
	return mem
}

func (c *Core) warnMismatch(m *loadedcode.Mapping, mem, other *loadedcode.Image) {
	const rest = "; its code is read from the core as far as that has it; give --sysroot DIR with the right file"
	switch {
	case other == nil && (mem != nil || !c.dumped(m)):
		c.missing = append(c.missing, m.Path)
	case other == nil: // not an ELF file
	case mem != nil && mem.BuildID != "":
		c.warn("%s is not the file that ran: its build id is %s, the core has %s%s", m.Path, cmp.Or(other.BuildID, "missing"),
			mem.BuildID, rest)
	default:
		c.warn("%s is not the file that ran (build id %s): its headers differ from those in the core%s", m.Path,
			cmp.Or(other.BuildID, "missing"), rest)
	}
}

// imageFromCore returns nil if the core lacks the file's headers.
func (c *Core) imageFromCore(m *loadedcode.Mapping) *loadedcode.Image {
	r := loadedcode.NewMemFile(c, m)
	if r == nil {
		return nil
	}
	var h [64]byte
	if n, _ := r.ReadAt(h[:], 0); n < len(h) {
		return nil
	}
	if binary.LittleEndian.Uint16(h[56:]) > maxMemHeaders || binary.LittleEndian.Uint16(h[60:]) > maxMemHeaders {
		return nil
	}
	return loadedcode.MemoryImage(r, m)
}

// candidates are the files that may be m's, below the sysroot.
func (c *Core) candidates(m *loadedcode.Mapping, mem *loadedcode.Image) []safeopen.Request {
	out := []safeopen.Request{{Root: c.Sysroot, Path: m.Path}}
	if mem == nil || len(mem.BuildID) < 6 {
		return out
	}
	byID := path.Join(debugFiles, ".build-id", mem.BuildID[:2], mem.BuildID[2:])
	out = append(out, safeopen.Request{Root: c.Sysroot, Path: byID})
	if c.Sysroot != "" { // the build id will prove them
		out = append(out, safeopen.Request{Path: m.Path}, safeopen.Request{Path: byID})
	}
	return out
}

func (c *Core) openCandidate(r safeopen.Request, m *loadedcode.Mapping, mem *loadedcode.Image) (
	*loadedcode.Image, match,
) {
	f, err := c.opener.Open(r)
	if err != nil {
		return nil, matchUnknown
	}
	is := c.matchFile(f, m, mem)
	img, _ := c.cache.Load(f, m) // closed if unused
	if img == nil {
		return nil, matchNone
	}
	if img.ELF.Arch() != c.Arch {
		is = matchOther
	}
	return img, is
}

func (c *Core) matchFile(f *safeopen.File, m *loadedcode.Mapping, mem *loadedcode.Image) match {
	e, err := elffile.Open(f, f.Size())
	if err != nil {
		return matchOther
	}
	defer e.Release()
	if mem != nil && mem.BuildID != "" {
		if e.BuildID() == mem.BuildID {
			return matchSame
		}
		return matchOther
	}
	if _, ok := e.Bias(m.Start, m.Offset, m.Perm&loadedcode.PermExec != 0); !ok {
		return matchOther
	}
	if mem == nil {
		return c.matchEntry(e, m)
	}
	if loadedcode.SameContents(c, f, f.Size(), m) {
		return matchSame
	}
	return matchOther
}

// matchEntry serves cores without headers: the entry point must be that of the auxiliary vector.
func (c *Core) matchEntry(e *elffile.File, m *loadedcode.Mapping) match {
	if c.notes.entry < m.Start || c.notes.entry >= m.End {
		return matchUnknown
	}
	if bias, ok := e.Bias(m.Start, m.Offset, true); !ok || e.Entry+bias != c.notes.entry {
		return matchOther
	}
	return matchUnknown
}

// OpenFile opens a file by its path on the core's machine, a debug file found by build id also on this one. The caller
// closes the file.
func (c *Core) OpenFile(name string) (*safeopen.File, error) {
	f, err := c.opener.Open(safeopen.Request{Root: c.Sysroot, Path: name})
	if err != nil && c.Sysroot != "" && strings.HasPrefix(name, debugFiles+"/.build-id/") {
		return c.opener.Open(safeopen.Request{Path: name})
	}
	return f, err
}
