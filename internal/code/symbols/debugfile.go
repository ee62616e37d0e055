// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"debug/elf"
	"errors"
	"fmt"

	"prywalk/internal/code/elffile"
	"prywalk/internal/code/symbols/dwarfinfo"
)

type debugFiles struct {
	tried bool
	file  *elffile.DebugFile // nil means none
	alt   *elffile.DebugFile // shared by several files (dwz); nil means none
}

func (d *debugFiles) close() error { return errors.Join(d.file.Close(), d.alt.Close()) }

func (t *Table) debugFile() *elffile.DebugFile {
	if f := t.from.File; !t.debug.tried && f != nil && t.from.Open != nil {
		t.debug.file = f.OpenDebug(t.from.Path, t.from.Open, t.warn)
	}
	t.debug.tried = true
	return t.debug.file
}

func (t *Table) loadDwarf() {
	f, where := t.from.File, t.from.Path
	if f == nil {
		return
	}
	if !hasDwarf(f) {
		d := t.debugFile()
		if d == nil || !hasDwarf(d.File) {
			return
		}
		f, where = d.File, d.Path
	}
	s, err := sectionsOf(f)
	if err != nil {
		t.warn(fmt.Errorf("debug information of %s: %w", where, err))
		return
	}
	t.dwarf = dwarfinfo.New(s, t.supplement(f, where))
}

func hasDwarf(f *elffile.File) bool {
	s := f.DebugSection("info")
	return s != nil && s.Type != elf.SHT_NOBITS && s.Size > 0
}

func sectionsOf(f *elffile.File) (s dwarfinfo.Sections, err error) {
	if s.Info, err = f.Window(f.DebugSection("info")); err != nil {
		return s, err
	}
	if s.Abbrev, err = f.Data(f.DebugSection("abbrev")); err != nil {
		return s, err
	}
	s.Memory = f.Memory()
	// Those that follow are not necessary.
	for name, to := range map[string]**elffile.Window{"line": &s.Line, "str": &s.Str, "line_str": &s.LineStr} {
		*to, _ = f.Window(f.DebugSection(name))
	}
	for name, to := range map[string]*[]byte{
		"str_offsets": &s.StrOffsets, "addr": &s.Addr, "ranges": &s.Ranges, "rnglists": &s.Rnglists,
	} {
		*to, _ = f.Data(f.DebugSection(name))
	}
	return s, nil
}

func (t *Table) supplement(f *elffile.File, where string) *dwarfinfo.Data {
	if t.from.Open == nil {
		return nil
	}
	alt, link := f.OpenAlt(where, t.from.Open, t.warn)
	if t.debug.alt = alt; alt != nil {
		s, err := sectionsOf(alt.File)
		if err == nil {
			return dwarfinfo.New(s, nil)
		}
		t.warn(fmt.Errorf("debug information of %s: the shared part %s is not used: %w; names that it holds are not shown",
			where, alt.Path, err))
		return nil
	}
	if link != "" {
		t.warn(fmt.Errorf("debug information of %s: the shared part %s is missing; names that it holds are not shown", where,
			link))
	}
	return nil
}
