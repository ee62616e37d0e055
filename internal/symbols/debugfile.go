// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"errors"
	"fmt"
	"io"
	"path"

	"prywalk/internal/elffile"
	"prywalk/internal/symbols/dwarfinfo"
)

type debugFiles struct {
	tried bool
	file  *elffile.File
	path  string
	open  []io.Closer
	files []*elffile.File
}

func (d *debugFiles) close() error {
	var errs []error
	for _, c := range d.open {
		errs = append(errs, c.Close())
	}
	for _, f := range d.files {
		f.Release()
	}
	d.open, d.files = nil, nil
	return errors.Join(errs...)
}

func (t *Table) debugFile() *elffile.File {
	if t.debug.tried {
		return t.debug.file
	}
	t.debug.tried = true
	f := t.opt.File
	if f == nil || t.opt.Open == nil {
		return nil
	}
	for _, p := range f.DebugPaths(t.opt.Path) {
		if d := t.openELF(p, func(d *elffile.File, r io.ReaderAt, size int64) error {
			return f.CheckDebug(d, r, size)
		}); d != nil {
			t.debug.file, t.debug.path = d, p
			return d
		}
	}
	return nil
}

// openELF opens a file until Table.Close; nil if missing or rejected by keep.
func (t *Table) openELF(p string, keep func(f *elffile.File, r io.ReaderAt, size int64) error) *elffile.File {
	r, size, err := t.opt.Open(p)
	if err != nil || r == nil {
		return nil
	}
	c, _ := r.(io.Closer)
	f, err := elffile.OpenIn(t.opt.File.Memory().Budget(), r, size)
	if err == nil {
		f.Memory().Rename(p)
		err = keep(f, r, size)
	}
	if err != nil {
		f.Release()
		t.warn(fmt.Errorf("debug file %s is not used: %w", p, err))
		if c != nil {
			c.Close()
		}
		return nil
	}
	if c != nil {
		t.debug.open = append(t.debug.open, c)
	}
	t.debug.files = append(t.debug.files, f)
	return f
}

func (t *Table) loadDwarf() {
	f, where := t.opt.File, t.opt.Path
	if f == nil {
		return
	}
	if !hasDwarf(f) {
		if f = t.debugFile(); f == nil || !hasDwarf(f) {
			return
		}
		where = t.debug.path
	}
	s, err := sectionsOf(f)
	if err != nil {
		t.warn(fmt.Errorf("debug information of %s: %w", where, err))
		return
	}
	t.dwarf, t.dwarfInfo, t.dwarfPath = dwarfinfo.New(s, t.supplement(f, where)), s.Info, where
}

func (t *Table) dropDamagedDwarf() {
	w, ok := t.dwarfInfo.(*elffile.Window)
	if !ok || w.Err() == nil {
		return
	}
	t.warn(fmt.Errorf("debug information of %s: %w", t.dwarfPath, w.Err()))
	t.dwarf, t.dwarfInfo = nil, nil
}

func hasDwarf(f *elffile.File) bool {
	s := f.DebugSection("info")
	return s != nil && s.Type != elffile.SecNoBits && s.Size > 0
}

// sectionsOf opens dwarfinfo's sections. Only .debug_info and .debug_abbrev are necessary.
func sectionsOf(f *elffile.File) (s dwarfinfo.Sections, err error) {
	info, err := f.WindowFromStart(f.DebugSection("info"))
	if err != nil {
		return s, err
	}
	s.Info = info
	if s.Abbrev, err = f.Data(f.DebugSection("abbrev")); err != nil {
		return s, err
	}
	s.Memory = f.Memory()
	if w, err := f.WindowFromStart(f.DebugSection("line")); err == nil {
		s.Line = w
	}
	if w, err := f.Window(f.DebugSection("str")); err == nil {
		s.Str = w
	}
	for name, to := range map[string]*[]byte{
		"aranges": &s.Aranges, "line_str": &s.LineStr, "str_offsets": &s.StrOffsets,
		"addr": &s.Addr, "ranges": &s.Ranges, "rnglists": &s.Rnglists,
	} {
		*to, _ = f.Data(f.DebugSection(name)) // not necessary
	}
	return s, nil
}

// supplement opens the file with shared debug information (dwz).
func (t *Table) supplement(f *elffile.File, where string) *dwarfinfo.Data {
	link, id, ok := f.DebugAltLink()
	if !ok || t.opt.Open == nil {
		return nil
	}
	if !path.IsAbs(link) {
		link = path.Join(path.Dir(where), link)
	}
	for _, p := range []string{link, elffile.BuildIDPath(id)} {
		if p == "" {
			continue
		}
		alt := t.openELF(p, func(f *elffile.File, _ io.ReaderAt, _ int64) error {
			if f.BuildID() != id {
				return elffile.ErrOtherBuild
			}
			return nil
		})
		if alt == nil {
			continue
		}
		if s, err := sectionsOf(alt); err == nil {
			return dwarfinfo.New(s, nil)
		}
	}
	t.warn(fmt.Errorf("debug information of %s: the shared part %s is missing; names that it holds are not shown", where,
		link))
	return nil
}
