// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/printable"
	rec "prywalk/internal/profile"
	"prywalk/internal/view"
)

// Folded writes a line per distinct stack: process, thread and frames from the outermost, separated by semicolons, a
// space, and the value in the profile's unit. Missing names are left out.
func Folded(w io.Writer, p *profile.Profile, o Options) error {
	d, err := prepare(p, o)
	if err != nil {
		return err
	}
	defer d.Close()
	sums := map[string]int64{}
	var line []byte
	for _, s := range d.Profile.Sample {
		if v := s.Value[d.ValueIndex]; v != 0 {
			line = d.fold(line[:0], s)
			if _, ok := sums[string(line)]; !ok && !d.Take(int64(len(line))+foldedCost) {
				break
			}
			sums[string(line)] += v
		}
	}
	out := printable.NewWriter(d.Writer(w))
	for _, l := range slices.Sorted(maps.Keys(sums)) {
		out.Printf("%s %d\n", l, sums[l])
	}
	return cmp.Or(d.Err(), out.Err())
}

const foldedCost = 128

func (d *data) fold(line []byte, s *profile.Sample) []byte {
	for _, key := range []string{rec.LabelComm, rec.LabelThread} {
		if name := view.Label(s, key); name != "" {
			line = append(append(line, foldName(name)...), ';')
		}
	}
	for _, f := range slices.Backward(d.Stack(s)) {
		name := foldName(d.Frames[f].Label())
		if need := len(line) + len(name) + 1; need > cap(line) && !d.Take(2*int64(need)) {
			break
		}
		line = append(append(line, name...), ';')
	}
	return line[:max(0, len(line)-1)]
}

func foldName(s string) string { return strings.ReplaceAll(printable.String(s), ";", ":") }
