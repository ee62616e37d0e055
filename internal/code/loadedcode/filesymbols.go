// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"debug/elf"
	"slices"
	"strings"

	"prywalk/internal/base/cache"
	"prywalk/internal/code/elffile"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/runtimes"
)

// fileSymbols are a file's and its debug files', a [managed.FileSymbols].
type fileSymbols struct {
	elf   *elffile.File
	from  *debugFiles
	named map[string][]managed.Symbol
}

const maxCachedNames = 1 << 10

// Tables implements [managed.FileSymbols]: .symtab, else .dynsym and the symbol tables of debug files.
func (x *fileSymbols) Tables(yield func(*elffile.File, elffile.SymbolKind)) {
	if x.elf.HasSymbols(elffile.SymTab) {
		yield(x.elf, elffile.SymTab)
		return
	}
	yield(x.elf, elffile.DynSym)
	for _, debugFile := range x.from.filesOrOpen() {
		if debugFile.HasSymbols(elffile.SymTab) {
			yield(debugFile, elffile.SymTab)
		}
	}
}

// Named implements [managed.FileSymbols].
func (x *fileSymbols) Named(names ...string) []managed.Symbol {
	return append(x.ownSymbols(names), x.debugSymbols(names)...)
}

func (x *fileSymbols) firstNamed(name string) managed.Symbol {
	list := x.ownSymbols([]string{name})
	if len(list) == 0 {
		list = x.debugSymbols([]string{name})
	}
	return append(list, managed.Symbol{})[0]
}

func (x *fileSymbols) debugSymbols(names []string) []managed.Symbol {
	if x.elf.HasSymbols(elffile.SymTab) {
		return nil
	}
	return x.keep("debug "+strings.Join(names, " "), func() (list []managed.Symbol) {
		for _, debugFile := range x.from.filesOrOpen() {
			list = append(list, findNamed(debugFile, names, elffile.SymTab)...)
		}
		return list
	})
}

// ownSymbols searches the names that runtimes ask of each file together.
func (x *fileSymbols) ownSymbols(names []string) []managed.Symbol {
	search := names
	if !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(runtimes.Symbols, n) }) {
		search = runtimes.Symbols
	}
	list := x.keep(strings.Join(search, " "), func() []managed.Symbol {
		return findNamed(x.elf, search, elffile.DynSym, elffile.SymTab)
	})
	return slices.DeleteFunc(slices.Clone(list), func(s managed.Symbol) bool { return !slices.Contains(names, s.Name) })
}

func (x *fileSymbols) keep(key string, find func() []managed.Symbol) []managed.Symbol {
	list, known := x.named[key]
	if !known {
		list = find()
		cache.Put(&x.named, maxCachedNames, key, list)
	}
	return list
}

const maxFoundSymbols = 1 << 10

func findNamed(f *elffile.File, names []string, tables ...elffile.SymbolKind) (list []managed.Symbol) {
	found := map[managed.Symbol]bool{}
	for _, kind := range tables {
		f.EachNamed(kind, names, func(name int, s *elffile.Symbol) bool {
			if s.Section == elf.SHN_UNDEF {
				return true
			}
			at := managed.Symbol{Name: names[name], Addr: s.Value, Size: s.Size, Function: s.Type() == elf.STT_FUNC}
			if !found[at] && len(list) < maxFoundSymbols {
				found[at] = true
				at.Exported = kind == elffile.DynSym
				list = append(list, at)
			}
			return true
		})
	}
	return list
}
