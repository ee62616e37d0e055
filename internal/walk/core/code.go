// SPDX-License-Identifier: Apache-2.0

package core

import (
	"slices"
	"sort"

	"prywalk/frames"
	"prywalk/internal/code/loadedcode"
)

func (c *Core) addModules() {
	var files int
	c.maps, files = mapsOf(c.notes, c.mem)
	c.files = make([]file, files)
	for i := range c.maps {
		if n := c.maps[i].Inode; n != 0 {
			c.files[n-1].maps = append(c.files[n-1].maps, i)
		}
	}
	c.hasHeaders = slices.ContainsFunc(c.notes.files, func(f fileMap) bool {
		var b [4]byte
		return f.off == 0 && c.mem.read(f.start, b[:]) == len(b) && string(b[:]) == "\x7fELF"
	})
	c.space = frames.NewSpace(c.Arch)
	c.runtimes.Init(c.Arch, c, &c.JITFuncBounds)
	var mods, bare []*frames.Module
	for i := range c.maps {
		var before *mapping
		if i > 0 {
			before = &c.maps[i-1]
		}
		if c.hasCode(&c.maps[i], before) {
			m := loadedcode.Mapping{MapsLine: c.maps[i].MapsLine}
			mods = append(mods, c.module(&m))
			if m.JIT && m.Inode == 0 {
				bare = append(bare, mods[len(mods)-1])
			}
		}
	}
	loadedcode.FindCopies(c, bare)
	c.runtimes.Attach(c, mods)
	if err := c.runtimes.Incomplete(); err != nil {
		c.warn("%v", err)
	}
	c.space.SetModules(mods)
	c.space.SetLeftStacks(c.runtimes.LeftStacks())
}

// hasCode reports whether a mapping is executable by the core, else by its file; then it sets that in m. Unless the
// core has ELF headers, an unknown mapping counts as code, so that frames have its name.
func (c *Core) hasCode(m, before *mapping) bool {
	if !m.guessed {
		return m.Perm&loadedcode.PermExec != 0
	}
	img := c.Image(&loadedcode.Mapping{MapsLine: m.MapsLine})
	if img == nil {
		return !c.hasHeaders && !c.files[m.Inode-1].notELF
	}
	continues := before != nil && before.guessed && before.Perm&loadedcode.PermExec != 0 &&
		before.Inode == m.Inode && before.End == m.Start && before.Offset+(before.End-before.Start) == m.Offset
	if !showsCode(img.ELF, &m.MapsLine, continues) {
		return false
	}
	m.Perm |= loadedcode.PermExec
	return true
}

func (c *Core) module(m *loadedcode.Mapping) *frames.Module {
	mod := loadedcode.NewModule(c, m)
	if m.JIT && !c.dumped(m) {
		m.JIT = false // code of the file, which was not found
	}
	switch {
	case m.JIT:
		c.runtimes.SetSources(mod)
	case m.Image != nil && m.Image.FromMemory && !c.dumped(m): // its headers only
		mod.Calls = nil
	}
	return mod
}

func (c *Core) dumped(m *loadedcode.Mapping) bool {
	var b [1]byte
	return c.mem.read(m.Start, b[:]) == 1 && c.mem.read(m.End-1, b[:]) == 1
}

// readFiles reads what the core leaves to files, not what a truncated core lacks.
func (c *Core) readFiles(addr uint64, b []byte) int {
	if s := c.mem.find(addr); s != nil && addr-s.start < s.dumped {
		return 0
	}
	i := sort.Search(len(c.maps), func(i int) bool { return c.maps[i].End > addr })
	if i == len(c.maps) || addr < c.maps[i].Start || c.maps[i].Inode == 0 || c.maps[i].Perm&loadedcode.PermWrite != 0 {
		return 0
	}
	m := &c.maps[i]
	f := &c.files[m.Inode-1]
	if f.img == nil || f.img.FromMemory || !f.sameContents {
		return 0
	}
	bias, ok := f.img.ELF.Bias(m.Start, m.Offset, m.Perm&loadedcode.PermExec != 0)
	if !ok {
		return 0
	}
	return f.img.ReadAddr(addr-bias, b[:min(uint64(len(b)), m.End-addr)])
}

// ReadMapped implements loadedcode.AddressSpace.
func (c *Core) ReadMapped(addr uint64, b []byte) (int, error) { return c.ReadMem(addr, b) }

// ReadMem implements loadedcode.AddressSpace, from the core only.
func (c *Core) ReadMem(addr uint64, b []byte) (int, error) {
	n := c.mem.read(addr, b)
	if n < len(b) {
		return n, errNotDumped
	}
	return n, nil
}

// Read implements loadedcode.AddressSpace, from the core, else from files.
func (c *Core) Read(addr uint64, b []byte) int {
	n := c.mem.read(addr, b)
	for n < len(b) {
		more := c.readFiles(addr+uint64(n), b[n:])
		if more == 0 {
			break
		}
		n += more
	}
	return n
}

// Mappings implements loadedcode.AddressSpace.
func (c *Core) Mappings(f func(*loadedcode.RawMapping)) error {
	for i := range c.maps {
		f(&c.maps[i].RawMapping)
	}
	return nil
}

// MappingsOf implements loadedcode.AddressSpace.
func (c *Core) MappingsOf(m *loadedcode.Mapping, f func(*loadedcode.RawMapping)) error {
	if m.Inode != 0 {
		for _, i := range c.files[m.Inode-1].maps {
			f(&c.maps[i].RawMapping)
		}
	}
	return nil
}

// Images implements loadedcode.AddressSpace.
func (c *Core) Images() *loadedcode.ImageCache { return c.cache }

// ReadCode implements loadedcode.AddressSpace.
func (c *Core) ReadCode(addr uint64, b []byte) int { return c.mem.read(addr, b) }

// Runtimes returns the core's runtimes.
func (c *Core) Runtimes() *loadedcode.Runtimes { return &c.runtimes }
