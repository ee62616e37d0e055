// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"testing"

	"prywalk/frames"
)

func benchPCs(b *testing.B, t *Table) []uint64 {
	var pcs []uint64
	for f := range t.FDEs() {
		pc := f.Start + (f.End-f.Start)/2
		if _, row, ok := t.Rule(frames.Query{PC: pc}); ok && row == nil {
			pcs = append(pcs, pc)
		}
	}
	if len(pcs) == 0 {
		b.Fatal("no rules")
	}
	return pcs
}

func BenchmarkRuleCold(b *testing.B) {
	for name, path := range map[string]string{"libc": libcPath, "node": nodePath} {
		b.Run(name, func(b *testing.B) {
			t := openTable(b, path)
			pcs := benchPCs(b, t)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i = (i + 7919) % len(pcs)
				if _, _, ok := t.Rule(frames.Query{PC: pcs[i]}); !ok {
					b.Fatal("no rule")
				}
			}
		})
	}
}
