// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"slices"

	"prywalk/frames"
	"prywalk/internal/elffile"
)

// symbolRange is in file addresses.
type symbolRange struct {
	addr, size uint64
	ok         bool
}

const maxNames = 1 << 10

// symbol returns the first symbol of a name in the file, else in its debug files.
func (img *Image) symbol(name string) symbolRange {
	img.mu.Lock()
	defer img.mu.Unlock()
	if s, ok := img.symbolsByName[name]; ok {
		return s
	}
	var found symbolRange
	for _, kind := range []elffile.SymbolKind{elffile.DynSym, elffile.SymTab} {
		if found = findSymbol(img.ELF, kind, name); found.ok {
			break
		}
	}
	if !found.ok && !img.ELF.HasSymbols(elffile.SymTab) {
		for _, debugFile := range img.debug.filesOrOpen() {
			if found = findSymbol(debugFile, elffile.SymTab, name); found.ok {
				break
			}
		}
	}
	if img.symbolsByName == nil || len(img.symbolsByName) >= maxNames {
		img.symbolsByName = map[string]symbolRange{}
	}
	img.symbolsByName[name] = found
	return found
}

func findSymbol(f *elffile.File, kind elffile.SymbolKind, name string) (found symbolRange) {
	f.EachNamed(kind, []string{name}, func(_ int, s *elffile.Symbol) bool {
		if s.Section != elffile.SectionUndef {
			found = symbolRange{s.Value, s.Size, true}
		}
		return !found.ok
	})
	return found
}

func (img *Image) section(name string) (addr uint64, content []byte, ok bool) {
	img.mu.Lock()
	defer img.mu.Unlock()
	s := img.ELF.Section(name)
	if s == nil {
		return 0, nil, false
	}
	data, err := img.ELF.Data(s)
	if err != nil {
		return 0, nil, false
	}
	defer img.ELF.Free(data)
	return s.Addr, slices.Clone(data), true
}

// ImageAt returns the image at an address, also where memory is mapped over a part of the file, and the file address;
// nil outside of modules.
func ImageAt(space *frames.Space, addr uint64) (*Image, uint64) {
	for _, m := range space.Modules() {
		at := MappingOf(m)
		if at == nil || at.Image == nil || at.Image.ELF == nil {
			continue
		}
		for i := range at.Image.ELF.Segments {
			s := &at.Image.ELF.Segments[i]
			if s.Type == elffile.SegLoad && addr-m.Bias-s.VAddr < s.MemSize {
				return at.Image, addr - m.Bias
			}
		}
	}
	return nil, 0
}
