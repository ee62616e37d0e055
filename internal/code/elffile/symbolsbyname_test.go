// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"debug/elf"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/host/filememory"
)

// There are names within others, at the bounds of a window's blocks, and at the end of an unterminated table.
func TestSymbolsAreFoundByTheirNames(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	wanted := []string{"_PyRuntime", "PyRuntime", "absent", "xy"}
	for round := range 60 {
		var text strings.Builder
		text.WriteByte(0)
		var at []int
		for text.Len() < 3*blockSize {
			if left := blockSize - text.Len()%blockSize; left > 20 && left < 2000 && r.IntN(2) == 0 { // near a block's end
				text.WriteString(strings.Repeat("b", left-1-r.IntN(14)) + "\x00")
			}
			at = append(at, text.Len())
			switch name := wanted[r.IntN(len(wanted))]; r.IntN(40) {
			case 0:
				text.WriteString(name + "\x00")
			case 1:
				at = append(at, text.Len()+4)
				text.WriteString("long" + name + "\x00")
			case 2:
				text.WriteString(name + "er\x00")
			default:
				fmt.Fprintf(&text, "%s%d\x00", strings.Repeat("f", r.IntN(900)), r.IntN(1000))
			}
		}
		if round%2 == 0 {
			at = append(at, text.Len())
			text.WriteString("PyRuntime")
		}
		m := newImage()
		str := m.add(Section{Name: ".strtab", Type: elf.SHT_STRTAB}, []byte(text.String()))
		table := make([]byte, symbolSize)
		for i, off := range at {
			table = appendNumbers(table, uint32(off), uint8(2), uint8(0), uint16(i%3), uint64(i), uint64(8))
		}
		m.add(Section{Name: ".symtab", Type: elf.SHT_SYMTAB, Link: uint32(str)}, table)
		f := openBytes(t, m.bytes())
		type found struct {
			name string
			at   uint64
		}
		var got, want []found
		searched := f
		if round%4 < 2 { // the names are not held
			searched = openWith(t, filememory.New(1<<14), m.bytes())
		}
		searched.EachNamed(SymTab, wanted, func(name int, s *Symbol) bool {
			got = append(got, found{wanted[name], s.Value})
			return true
		})
		syms, err := f.Symbols(SymTab)
		if err != nil || len(syms) != len(at) || f.CountSymbols(SymTab) != len(at) {
			t.Fatalf("%d symbols, want %d, %v", len(syms), len(at), err)
		}
		for i := range syms {
			if name := string(f.NameBytes(SymTab, &syms[i])); slices.Contains(wanted, name) {
				want = append(want, found{name, syms[i].Value})
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("round %d: %d found, want %d: %v, want %v", round, len(got), len(want), got, want)
		}
	}
}
