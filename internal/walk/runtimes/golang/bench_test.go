// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/base/sample"
)

func BenchmarkRule(b *testing.B) {
	tab, _ := open(b, build(b, source, noCgo))
	end, _, _ := tab.ftab(tab.h.nfunc)
	span := end - tab.text
	b.ReportAllocs()
	i := uint64(0)
	for b.Loop() {
		i += 7919
		tab.Rule(frames.Query{PC: tab.text + i%span, AfterCall: true})
	}
}

func BenchmarkLines(b *testing.B) {
	tab, _ := open(b, build(b, source, noCgo))
	end, _, _ := tab.ftab(tab.h.nfunc)
	span := end - tab.text
	b.ReportAllocs()
	var out []sample.Frame
	i := uint64(0)
	for b.Loop() {
		i += 7919
		out = tab.Lines(tab.text+i%span, out[:0])
	}
}

func BenchmarkNew(b *testing.B) {
	im, _ := image(b, build(b, source, noCgo))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(im); err != nil {
			b.Fatal(err)
		}
	}
}
