// SPDX-License-Identifier: Apache-2.0

package core

import (
	"cmp"
	"debug/elf"
	"slices"
	"sort"
	"strings"

	"prywalk/internal/code/elffile"
	"prywalk/internal/code/loadedcode"
)

// vsyscallPage is x86-64's (arch/x86/include/uapi/asm/vsyscall.h).
const vsyscallPage = 0xffffffffff600000

const deletedSuffix = " (deleted)" // fs/d_path.c

type mapping struct {
	loadedcode.RawMapping
	guessed bool // permissions are unknown
}

// mapsOf numbers files from 1, in place of inodes: by path. Of a deleted path, whose file may have been replaced, each
// further mapping at offset 0 begins another file.
func mapsOf(n *notes, m *memory) (maps []mapping, files int) {
	type last struct {
		number uint64
		begun  bool // has a mapping at offset 0
	}
	byPath := map[string]last{}
	for _, f := range n.files {
		c := mapping{guessed: true}
		c.Path, c.Deleted = strings.CutSuffix(f.path, deletedSuffix)
		l := byPath[f.path]
		if l.number == 0 || l.begun && f.off == 0 && c.Deleted {
			files++
			l = last{number: uint64(files)}
		}
		l.begun = l.begun || f.off == 0
		byPath[f.path] = l
		c.Start, c.End, c.Offset = f.start, f.end, f.off
		c.Inode, c.RawPath, c.Perm = l.number, []byte(f.path), loadedcode.PermRead
		if s := m.find(f.start); s != nil {
			c.Perm, c.guessed = permOf(s.flags), false
		}
		maps = append(maps, c)
	}
	for i := range m.segs {
		maps = append(maps, anonymous(&m.segs[i], n)...)
	}
	slices.SortStableFunc(maps, func(a, b mapping) int { return cmp.Compare(a.Start, b.Start) })
	return maps, files
}

func anonymous(s *segment, n *notes) []mapping {
	var out []mapping
	add := func(start, end uint64) {
		if start >= end {
			return
		}
		var c mapping
		c.Start, c.End, c.Perm = start, end, permOf(s.flags)
		switch {
		case n.vdso != 0 && start <= n.vdso && n.vdso < end:
			c.Start, c.Path = n.vdso, "[vdso]"
		case start == vsyscallPage:
			c.Path = "[vsyscall]"
		}
		c.RawPath = []byte(c.Path)
		out = append(out, c)
	}
	at := s.start
	i := sort.Search(len(n.files), func(i int) bool { return n.files[i].end >= at })
	for ; i < len(n.files) && n.files[i].start < s.end; i++ {
		add(at, n.files[i].start)
		at = max(at, n.files[i].end)
	}
	add(at, s.end)
	return out
}

func permOf(f elf.ProgFlag) loadedcode.Perm {
	var p loadedcode.Perm
	if f&elf.PF_R != 0 {
		p |= loadedcode.PermRead
	}
	if f&elf.PF_W != 0 {
		p |= loadedcode.PermWrite
	}
	if f&elf.PF_X != 0 {
		p |= loadedcode.PermExec
	}
	return p
}

// showsCode reports whether a mapping has code by its file's program headers: most of it is of an executable segment,
// and it begins where that does, continues such a mapping, or lies within (V8's second mapping of its builtins).
func showsCode(f *elffile.File, m *loadedcode.MapsLine, continues bool) bool {
	best, code := uint64(0), false
	for i := range f.Segments {
		s := &f.Segments[i]
		if s.Type != elf.PT_LOAD || s.Off+s.FileSize < s.Off {
			continue
		}
		from, to := max(s.Off, m.Offset), min(s.Off+s.FileSize, m.Offset+(m.End-m.Start))
		if from < to && to-from > best {
			within := to-from == m.End-m.Start
			best, code = to-from, s.Flags&elf.PF_X != 0 && (continues || within || beginsAt(s.Off, m.Offset))
		}
	}
	return code
}

// beginsAt allows any page size.
func beginsAt(off, at uint64) bool {
	return at == off&^(4<<10-1) || at == off&^(16<<10-1) || at == off&^(64<<10-1)
}
