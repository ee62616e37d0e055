// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

import (
	"debug/dwarf"
	"path"
	"strings"

	"prywalk/internal/base/wire"
)

// header reads the header (DWARF 5 §6.2.4).
func (p *lineProgram) header() bool {
	c := wire.Cursor{Bytes: view(p.u.d.s.Line, p.u.stmtList, 12)}
	length, offSize := initialLength(&c)
	if c.Bad || length > p.u.d.s.Line.Size() {
		return false
	}
	whole := uint64(c.Pos) + length
	if !p.u.d.takeViewMemory(whole) {
		return false
	}
	if c.Bytes = view(p.u.d.s.Line, p.u.stmtList, whole); uint64(len(c.Bytes)) < whole {
		return false
	}
	p.offSize = offSize
	version := c.U16()
	if version < 2 || version > 5 {
		return false
	}
	if p.addrSize = p.u.addrSize; version >= 5 {
		p.addrSize = c.U8()
		c.U8() // segment selectors
	}
	headerLen := c.Sized(offSize)
	if headerLen > uint64(len(c.Bytes)-c.Pos) {
		return false
	}
	program := c.Pos + int(headerLen)
	p.minInst, p.maxOps = uint64(c.U8()), 1
	if version >= 4 {
		p.maxOps = uint64(c.U8())
	}
	c.U8() // default_is_stmt
	p.lineBase, p.lineRange, p.opBase = int8(c.U8()), c.U8(), c.U8()
	if p.lineRange == 0 || p.opBase == 0 {
		return false
	}
	p.opLens = c.Take(uint64(p.opBase) - 1)
	names := wire.Cursor{Bytes: c.Bytes[:program], Pos: min(c.Pos, program)}
	if version >= 5 {
		p.names5(&names)
	} else {
		p.names4(&names)
	}
	p.c = wire.Cursor{Bytes: c.Bytes, Pos: program}
	return !c.Bad
}

type fileNames struct {
	v5    bool
	dirs  [][]byte
	files []fileName
}

type fileName struct {
	name []byte
	dir  uint64
	path string
}

// names4 reads versions 2 to 4 (DWARF 4 §6.2.4).
func (p *lineProgram) names4(c *wire.Cursor) {
	f := &p.t.files
	for p.u.d.spendSteps(1) {
		dir := c.CString()
		if len(dir) == 0 || !p.u.d.takeMemory(dirCost) {
			break
		}
		f.dirs = append(f.dirs, dir)
	}
	for !c.Done() && p.u.d.spendSteps(1) && p.u.d.takeMemory(fileCost) && f.define(c) {
	}
}

func (f *fileNames) define(c *wire.Cursor) bool {
	name := c.CString()
	if len(name) == 0 {
		return false
	}
	f.files = append(f.files, fileName{name: name, dir: c.ULEB()})
	c.ULEB() // time of modification
	c.ULEB() // size
	return !c.Bad
}

func (p *lineProgram) names5(c *wire.Cursor) {
	f := &p.t.files
	f.v5 = true
	p.entries5(c, func(name []byte, _ uint64) { f.dirs = append(f.dirs, name) })
	p.entries5(c, func(name []byte, dir uint64) {
		f.files = append(f.files, fileName{name: name, dir: dir})
	})
}

// DWARF 5 §6.2.4.1.
const (
	contentPath = 1
	contentDir  = 2
)

func (p *lineProgram) entries5(c *wire.Cursor, add func(name []byte, dir uint64)) {
	formats := make([]spec, c.U8())
	for i := range formats {
		formats[i] = spec{attr: dwarf.Attr(min(c.ULEB(), 0xffff)), form: formOf(c.ULEB())}
	}
	u := *p.u
	u.offSize, u.addrSize, u.version = p.offSize, p.addrSize, 5
	for n := c.ULEB(); n > 0 && len(formats) > 0 && !c.Done() && u.d.spendSteps(len(formats)); n-- {
		var name []byte
		var dir uint64
		for i := range formats {
			v := u.read(c, &formats[i])
			switch formats[i].attr {
			case contentPath:
				name = u.stringOf(v)
			case contentDir:
				dir = v.u
			}
		}
		if !c.Bad && u.d.takeMemory(fileCost) {
			add(name, dir)
		}
	}
}

// path returns file i, absolute if possible. Files are numbered from 1, in version 5 from 0, where directory 0 is the
// compilation directory.
func (f *fileNames) path(u *unit, i uint32) string {
	if !f.v5 {
		i--
	}
	if uint64(i) >= uint64(len(f.files)) {
		return ""
	}
	file := &f.files[i]
	if file.path == "" {
		file.path = joinPath(string(u.compDir), f.dir(file.dir), string(file.name))
	}
	return file.path
}

// dir returns "" if unknown, or up to version 4 for the compilation directory.
func (f *fileNames) dir(i uint64) string {
	if !f.v5 {
		i--
	}
	if i >= uint64(len(f.dirs)) {
		return ""
	}
	return string(f.dirs[i])
}

// joinPath joins from the last absolute part on; ".." stays, as it may follow a link.
func joinPath(parts ...string) string {
	var s string
	for _, p := range parts {
		switch {
		case p == "" || p == ".":
		case path.IsAbs(p) || s == "":
			s = p
		default:
			s += "/" + strings.TrimPrefix(p, "./")
		}
	}
	return s
}
