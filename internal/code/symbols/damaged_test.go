// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"prywalk/internal/code/elffile"
	"prywalk/internal/testtargets"
)

func TestDamagedFilesDegrade(t *testing.T) {
	for _, p := range []program{programs[1], programs[7]} {
		good, err := os.ReadFile(p.build(t))
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(5, 6))
		var out []Frame
		for range testtargets.Times(75, 300) {
			text := bytes.Clone(good)
			for range 1 + r.IntN(200) {
				text[r.IntN(len(text))] = byte(r.Uint32())
			}
			copy(text[:elfHeader], good)
			f, err := elffile.Open(bytes.NewReader(text), int64(len(text)))
			if err != nil {
				continue
			}
			table := New(Sources{File: f})
			for a := uint64(0x1000); a < 0x2000; a += 3 {
				for _, fr := range table.Frames(a, out[:0]) {
					if fr.Name == "" {
						t.Fatalf("a frame without a name at %#x: %+v", a, fr)
					}
				}
				table.FuncRange(a)
			}
			for _, w := range table.Warnings() {
				if strings.Contains(w.Error(), "reading it failed") {
					t.Fatal(w)
				}
			}
			f.Release()
		}
	}
}

const elfHeader = 64
